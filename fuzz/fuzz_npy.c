/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_npy.c: any bytes as an NPY file. What is accepted lies inside the file, whole; what is refused says
 * why. */
#include <stdint.h>
#include <stdlib.h>

#include "io/npy_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct npy_head h;

    if (npy_head(&h, data, size)) {
        if (h.rows == 0 || h.cols == 0 || h.data % 4 || h.data > size ||
            h.cols > (size - h.data) / 4 / h.rows)
            abort();
    } else if (!h.wrong[0]) {
        abort();
    }
    return 0;
}
