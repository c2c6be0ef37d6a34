# SPDX-License-Identifier: Apache-2.0
# neutral.sed: makes a reply of the server, whose body is in one piece, the same in every run: without ids,
# times, seeds that were drawn, and what is known only once the model's hash is. The replies in this folder
# went through it (sed -E -f), and what test_serve_clients.sh compares with them does.
s/\r$//
/^(Date|Content-Length): /d
s/[0-9a-f]{26}/ID/g
s/^carat-seed: [0-9]{3,}$/carat-seed: DRAWN/
s/("(created|created_at|modified_at|createTime)":)("[^"]*"|[0-9]+)/\1TIME/g
s/("[a-z_]+_(ms|per_second|duration)":)[-+.0-9e]+/\1TIME/g
s/("(system_fingerprint|digest)":)("[^"]*"|null)/\1HASH/g
