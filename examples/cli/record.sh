#!/usr/bin/env bash
# Plays a demonstration of the command line, for recordings:
#
#     asciinema rec --command examples/cli/record.sh parley.cast
#
# PARLEY names the program, such as "node dist/cli/main.js". Defaults to parley. FAST=1 leaves the pauses out.
set -u
parley=${PARLEY:-parley}
port=${PORT:-4711}
agent=localhost:$port

type_line() {
  printf '\033[1m$\033[0m '
  for ((index = 0; index < ${#1}; index++)); do
    printf '%s' "${1:index:1}"
    [ -n "${FAST:-}" ] || sleep 0.03
  done
  printf '\n'
  eval "${1//parley /$parley }"
  [ -n "${FAST:-}" ] || sleep 1.5
}

$parley demo-server --port "$port" >/dev/null 2>&1 &
server=$!
trap 'kill $server' EXIT
until curl --silent --fail --output /dev/null "http://$agent/.well-known/agent-card.json"; do sleep 0.2; done

type_line "parley card get -a $agent | head -12"
type_line "parley send -a $agent hello"
type_line "parley send -a $agent slow --stream"
type_line "parley send -a $agent file -o json | head -20"
type_line "printf 'ask\ngreen\n' | parley chat $agent"
type_line "parley task list -a $agent --status completed"
type_line "parley doctor $agent 2>/dev/null | tail -18"
type_line "parley conformance $agent --long-running-text wait 2>/dev/null | head -10"
