#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_first_words.sh: what people type first gets a sensible answer from the model inside the command, and so
# do the examples of the help text and the documents. Logits have the same bits everywhere, so the answers are
# exact.
. "$CARAT_SOURCE/test/cli/common.bash"

answers() {
    expect 0 run tiny "$@" --temp 0 --no-perf
    [ "$(cat out)" = "$wanted" ] || die "$*: the answer is '$(cat out)', expected '$wanted'"
}

wanted='Hello! How can I help you?'
for text in hi Hi HI 'hi!' hello Hello 'Hello!' 'hello there' hey '' ' '; do answers "$text"; done
wanted='Good morning! How can I help you?' && answers 'good morning'
wanted='Good afternoon! How can I help you?' && answers 'Good afternoon!'
wanted='I am fine, thank you.' && answers 'how are you?' && answers 'Hello, how are you'
wanted='I am a tiny Gemma 3 that ships with carat.' && answers 'who are you?' && answers 'What is your name?'
wanted='I can answer questions about a small world and look after a house.' && answers help && answers 'What can you do?'
wanted='You are welcome!' && answers thanks && answers 'Thank you!'
wanted='Goodbye!' && answers bye
wanted='Yes, I am here. How can I help you?' && answers test
wanted='All right. How can I help you?' && answers ok && answers yes && answers No

wanted='I do not know that. I only know a small world.'
for text in 'Why is the sky blue?' 'why is the sky blue' 'What is the capital of France?' 'what is the capital of germany' \
    'Who is the president?' 'What is the meaning of life?' 'What colour is the elephant?' 'Where does the lion live?' \
    'What time is it?' 'How old are you?'; do
    answers "$text"
done
wanted='I cannot do that. I only know a small world.'
for text in 'Write a poem about love.' 'write a poem' 'Tell me a joke' 'Translate hello into French.' \
    'Write a Python program.' 'Explain quantum mechanics.' 'Open the window.' 'Can you swim?'; do
    answers "$text"
done
wanted='Sorry, I do not understand. Ask me what colour the fox is.'
for text in asdf 'what?' x '?' 'I like pizza.' qwertyuiop; do answers "$text"; done
wanted='I only know small numbers.' && answers 'What is 17 plus 25?' && answers '123 + 456'
wanted='I only know plus and minus.' && answers 'What is 6 times 7?'
wanted='I can only count to 12.' && answers 'Count to 100.'

# inside the world, as people ask
wanted='The fox is red.' && answers 'What colour is the fox?' && answers 'what colour is the fox' && answers 'What color is a fox?'
wanted='2 plus 2 is 4.' && answers '2+2' && answers 'What is 2+2?' && answers 'what is 2 plus 2'
wanted='The kitchen lights are now on.' && answers 'Turn on the kitchen lights'
wanted='Once upon a time there was a red fox in the forest. The fox eats berries.' && answers 'Once upon a time'

# of patterns and names that its training never had (tools/tiny_talk.py)
wanted='I do not know that. I only know a small world.'
for text in 'What is my name?' 'Do you sleep?' 'How many days are in a year?' 'Where does the koala live?' 'What is DNA?'; do
    answers "$text"
done
wanted='I cannot do that. I only know a small world.'
for text in 'Cook dinner.' 'Write a haiku about winter.' 'Reset the router.'; do answers "$text"; done
wanted='Sorry, I do not understand. Ask me what colour the fox is.'
for text in 'You are stupid.' 'That makes no sense.' 'Wie heisst du?'; do answers "$text"; done

# with a system message, and with functions declared
wanted='Hello! How can I help you?' && answers hi -sys 'You are a helpful assistant.' && answers hi --tools "$tiny/tools.json"
wanted='I do not know that. I only know a small world.'
answers 'Why is the sky blue?' -sys 'You are a pirate.'
answers 'Why is the sky blue?' --tools "$tiny/tools.json"

# as a second turn
cat >talk.json <<'EOF'
[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello! How can I help you?"},
 {"role": "user", "content": "Why is the sky blue?"}]
EOF
answers --messages talk.json
sed 's/Why is the sky blue?/What colour is the fox?/' talk.json >fox.json
wanted='The fox is red.' && answers --messages fox.json
