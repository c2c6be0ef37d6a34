/* SPDX-License-Identifier: Apache-2.0 */
/* test_out_of_memory_sbs.c: every request to the system refused once (out_of_memory.h): files of gemma.cpp,
 * and tokenizers alone. */
#include "api/out_of_memory.h"

OUT_OF_MEMORY({CT_TEST_DATA "/sbs/g3-sfp.sbs", 0, 0, NO_CACHE},
              {CT_TEST_DATA "/sbs/v1/g2-bf16.sbs", 0, 0, NO_CACHE},
              {CT_TEST_DATA "/text/vocab.gguf", 1, 0, NO_CACHE},
              {CT_TEST_DATA "/text/tokenizer.model", 1, 0, NO_CACHE})
