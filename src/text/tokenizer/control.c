/* SPDX-License-Identifier: Apache-2.0 */
/* control.c: the only place that spells control tokens, but for the four that carat_tools.h has for programs;
 * test/text/test_controls.sh looks for others. */
#include "text/tokenizer/control.h"

#include "carat_tools.h"

const struct ct_control_token ct_controls[CT_CONTROLS] = {
    [CT_CONTROL_UNK] = {"<unk>", CT_CONTROL_OF_TEXT},
    [CT_CONTROL_BOS] = {"<bos>", CT_CONTROL_OF_TEXT},
    [CT_CONTROL_EOS] = {"<eos>", CT_CONTROL_OF_TEXT},
    [CT_CONTROL_START_OF_TURN] = {"<start_of_turn>", CT_CONTROL_OF_TURN},
    [CT_CONTROL_END_OF_TURN] = {"<end_of_turn>", CT_CONTROL_OF_TURN},
    [CT_CONTROL_START_OF_IMAGE] = {"<start_of_image>", CT_CONTROL_OF_IMAGE},
    [CT_CONTROL_END_OF_IMAGE] = {"<end_of_image>", CT_CONTROL_OF_IMAGE},
    [CT_CONTROL_IMAGE] = {"<image_soft_token>", CT_CONTROL_OF_IMAGE},
    [CT_CONTROL_START_OF_AUDIO] = {"<start_of_audio>", CT_CONTROL_OF_AUDIO},
    [CT_CONTROL_END_OF_AUDIO] = {"<end_of_audio>", CT_CONTROL_OF_AUDIO},
    [CT_CONTROL_AUDIO] = {"<audio_soft_token>", CT_CONTROL_OF_AUDIO},
    [CT_CONTROL_TURN] = {"<|turn>", CT_CONTROL_OF_TURN},
    [CT_CONTROL_TURN_END] = {"<turn|>", CT_CONTROL_OF_TURN},
    [CT_CONTROL_THINK] = {"<|think|>", CT_CONTROL_OF_TURN},
    [CT_CONTROL_CHANNEL] = {"<|channel>", CT_CONTROL_OF_TURN},
    [CT_CONTROL_CHANNEL_END] = {"<channel|>", CT_CONTROL_OF_TURN},
    [CT_CONTROL_TOOL] = {"<|tool>", CT_CONTROL_OF_TOOL},
    [CT_CONTROL_TOOL_END] = {"<tool|>", CT_CONTROL_OF_TOOL},
    [CT_CONTROL_TOOL_CALL] = {CARAT_TOOL_CALL_START, CT_CONTROL_OF_TOOL},
    [CT_CONTROL_TOOL_CALL_END] = {CARAT_TOOL_CALL_END, CT_CONTROL_OF_TOOL},
    [CT_CONTROL_TOOL_RESPONSE] = {"<|tool_response>", CT_CONTROL_OF_TOOL},
    [CT_CONTROL_TOOL_RESPONSE_END] = {"<tool_response|>", CT_CONTROL_OF_TOOL},
    [CT_CONTROL_QUOTE] = {"<|\"|>", CT_CONTROL_OF_TOOL},
    [CT_CONTROL_PICTURE_BEGIN] = {"<|image>", CT_CONTROL_OF_IMAGE},
    [CT_CONTROL_PICTURE_END] = {"<image|>", CT_CONTROL_OF_IMAGE},
    [CT_CONTROL_PICTURE] = {"<|image|>", CT_CONTROL_OF_IMAGE},
    [CT_CONTROL_VIDEO] = {"<|video|>", CT_CONTROL_OF_IMAGE},
    [CT_CONTROL_SOUND_BEGIN] = {"<|audio>", CT_CONTROL_OF_AUDIO},
    [CT_CONTROL_SOUND_END] = {"<audio|>", CT_CONTROL_OF_AUDIO},
    [CT_CONTROL_SOUND] = {"<|audio|>", CT_CONTROL_OF_AUDIO},
    [CT_CONTROL_START_DECLARATION] = {CARAT_DECLARATION_START, CT_CONTROL_OF_CALL},
    [CT_CONTROL_END_DECLARATION] = {CARAT_DECLARATION_END, CT_CONTROL_OF_CALL},
    [CT_CONTROL_START_CALL] = {CARAT_CALL_START, CT_CONTROL_OF_CALL},
    [CT_CONTROL_END_CALL] = {CARAT_CALL_END, CT_CONTROL_OF_CALL},
    [CT_CONTROL_START_RESPONSE] = {CARAT_RESPONSE_START, CT_CONTROL_OF_CALL},
    [CT_CONTROL_END_RESPONSE] = {CARAT_RESPONSE_END, CT_CONTROL_OF_CALL},
    [CT_CONTROL_ESCAPE] = {CARAT_ESCAPE, CT_CONTROL_OF_CALL},
};
