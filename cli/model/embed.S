/* SPDX-License-Identifier: Apache-2.0 */
/* embed.S: puts the files of models/tiny into the command byte for byte; the build passes their directory as
 * an include path. Each starts on 64 bytes, because the library uses weights in place. embed.c names them. */

    .macro embed id, file
    .balign 64
    .global tiny_\id
    .global tiny_\id\()_end
tiny_\id:
    .incbin "\file"
tiny_\id\()_end:
    .byte 0
    .endm

    .section .rodata
    embed config, config.json
    embed chat_template, chat_template.jinja
    embed generation_config, generation_config.json
    embed model, model.safetensors
    embed tokenizer_json, tokenizer.json
    embed tokenizer_model, tokenizer.model
    embed tokenizer_config, tokenizer_config.json

    .section .note.GNU-stack, "", %progbits
