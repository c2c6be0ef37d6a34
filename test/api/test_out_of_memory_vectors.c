/* SPDX-License-Identifier: Apache-2.0 */
/* test_out_of_memory_vectors.c: every request to the system refused once (out_of_memory.h): GGUF and
 * safetensors. */
#include "api/out_of_memory.h"

OUT_OF_MEMORY({CT_TEST_DATA "/vectors/gguf/mixed.gguf", 0, 0, NO_CACHE},
              {CT_TEST_DATA "/vectors/models/gemma3-f16-untied", 0, 0, NO_CACHE},
              {CT_TEST_DATA "/vectors/models/gemma3-mm", 0, 0, NO_CACHE})
