/* SPDX-License-Identifier: Apache-2.0 */
/* test_out_of_memory_cache.c: every request to the system refused once (out_of_memory.h): the cache of
 * packed models, and what it keeps of a head. */
#include "api/out_of_memory.h"

OUT_OF_MEMORY({CT_TEST_DATA "/sbs/g3-sfp.sbs", 0, 0, EMPTY_CACHE},
              {CT_TEST_DATA "/sbs/g3-sfp.sbs", 0, 0, FULL_CACHE},
              {CT_TEST_DATA "/sbs/g3-sfp.sbs", 1, 0, FULL_CACHE},
              {CT_TEST_DATA "/vectors/gguf/q8_0.gguf", 0, 0, KEEPS_HEAD},
              {CT_TEST_DATA "/vectors/gguf/q8_0.gguf", 0, 0, HAS_HEAD})
