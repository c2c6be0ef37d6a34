#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists what the configuration classes of the family declare in transformers, for test/model/test_config_keys.c:
each key with its default, whether null may stand there, and whether every class has it.

    pip install transformers==5.24.0
    tools/list_config_keys.py >test/data/config_keys.json
"""

import dataclasses
import json

import transformers

CLASSES = """GemmaConfig Gemma2Config Gemma3TextConfig Gemma3nTextConfig Gemma4TextConfig Gemma4UnifiedTextConfig
EmbeddingGemma2TextConfig Gemma3Config Gemma3nConfig Gemma4Config Gemma4UnifiedConfig EmbeddingGemma2Config
Gemma4AssistantConfig Gemma4UnifiedAssistantConfig""".split()


def keys(name):
    everywhere = {field.name for field in dataclasses.fields(transformers.PreTrainedConfig)}
    found = {}
    for field in dataclasses.fields(getattr(transformers, name)):
        kind = str(field.type)
        found[field.name] = {
            "default": field.default,
            "null": field.default is None or "None" in kind or "Optional" in kind,
            "everywhere": field.name in everywhere,
        }
    return found


def main():
    classes = {name: {"model_type": getattr(transformers, name).model_type, "keys": keys(name)} for name in CLASSES}
    dropped = sorted(transformers.GenerationConfig._get_default_generation_params())
    lines = []
    for name, each in classes.items():
        rows = ",\n".join(f"   {json.dumps(key)}: {json.dumps(row)}" for key, row in each["keys"].items())
        lines.append(f'  {json.dumps(name)}: {{"model_type": {json.dumps(each["model_type"])}, "keys": {{\n{rows}}}}}')
    print(f'{{"transformers": {json.dumps(transformers.__version__)},\n "dropped": {json.dumps(dropped)},')
    print(' "classes": {\n' + ",\n".join(lines) + "\n }\n}")


if __name__ == "__main__":
    main()
