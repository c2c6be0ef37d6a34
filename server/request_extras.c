/* SPDX-License-Identifier: Apache-2.0 */
/* request_extras.c: the end of what some requests have alone: of OpenAI's responses, and of vectors. */
#include "responding.h"

#include <stdlib.h>

#include "stored.h"
#include "vectors.h"

void responding_free(struct responding *responding)
{
    if (!responding)
        return;
    buffer_free(&responding->repeated);
    buffer_free(&responding->runs);
    stored_free(responding->stored);
    free(responding);
}

void vectors_free(struct vectors *v)
{
    if (!v)
        return;
    carat_tokens_free(&v->ids);
    buffer_free(&v->inputs);
    buffer_free(&v->told);
    free(v->values);
    free(v);
}
