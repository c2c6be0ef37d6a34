/* SPDX-License-Identifier: Apache-2.0 */
/* control.h: the control tokens of Gemma: how each is spelled and what it is for. Their ids differ between
 * vocabularies; a tokenizer has them. */
#ifndef CT_CONTROL_H
#define CT_CONTROL_H

enum ct_control {
    CT_CONTROL_UNK,
    CT_CONTROL_BOS,
    CT_CONTROL_EOS,
    CT_CONTROL_START_OF_TURN,
    CT_CONTROL_END_OF_TURN,
    CT_CONTROL_START_OF_IMAGE,
    CT_CONTROL_END_OF_IMAGE,
    CT_CONTROL_IMAGE,
    CT_CONTROL_START_OF_AUDIO,
    CT_CONTROL_END_OF_AUDIO,
    CT_CONTROL_AUDIO,
    CT_CONTROL_TURN, /* from here on Gemma 4's */
    CT_CONTROL_TURN_END,
    CT_CONTROL_THINK,
    CT_CONTROL_CHANNEL,
    CT_CONTROL_CHANNEL_END,
    CT_CONTROL_TOOL,
    CT_CONTROL_TOOL_END,
    CT_CONTROL_TOOL_CALL,
    CT_CONTROL_TOOL_CALL_END,
    CT_CONTROL_TOOL_RESPONSE,
    CT_CONTROL_TOOL_RESPONSE_END,
    CT_CONTROL_QUOTE,
    CT_CONTROL_PICTURE_BEGIN,
    CT_CONTROL_PICTURE_END,
    CT_CONTROL_PICTURE,
    CT_CONTROL_VIDEO,
    CT_CONTROL_SOUND_BEGIN,
    CT_CONTROL_SOUND_END,
    CT_CONTROL_SOUND,
    CT_CONTROL_START_DECLARATION, /* from here on FunctionGemma's, visible without CARAT_SPECIAL too */
    CT_CONTROL_END_DECLARATION,
    CT_CONTROL_START_CALL,
    CT_CONTROL_END_CALL,
    CT_CONTROL_START_RESPONSE,
    CT_CONTROL_END_RESPONSE,
    CT_CONTROL_ESCAPE,
    CT_CONTROLS,
    CT_CONTROLS_VISIBLE = CT_CONTROLS - CT_CONTROL_START_DECLARATION,
};

enum ct_control_use {
    CT_CONTROL_OF_TEXT,
    CT_CONTROL_OF_TURN,
    CT_CONTROL_OF_IMAGE, /* stands for a picture or a film, or a part of one; never generated */
    CT_CONTROL_OF_AUDIO, /* the same of sound */
    CT_CONTROL_OF_CALL,  /* of a function, as FunctionGemma spells it */
    CT_CONTROL_OF_TOOL,  /* as Gemma 4 does */
};

extern const struct ct_control_token {
    const char *text;
    enum ct_control_use use;
} ct_controls[CT_CONTROLS];

#endif
