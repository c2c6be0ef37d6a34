/* SPDX-License-Identifier: Apache-2.0 */
/* test_out_of_memory_tiny.c: every request to the system refused once (out_of_memory.h): models/tiny, from
 * its folder and from memory. */
#include "api/out_of_memory.h"

OUT_OF_MEMORY({CT_TEST_DATA "/../../models/tiny", 0, 0, NO_CACHE},
              {CT_TEST_DATA "/../../models/tiny", 0, 1, NO_CACHE})
