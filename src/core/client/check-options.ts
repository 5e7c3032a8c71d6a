import type { Backoff } from '../base/backoff.ts'
import { isObject } from '../base/json.ts'
import {
  aFunction,
  anObject,
  checkOptions,
  clockCheck,
  flag,
  group,
  having,
  integer,
  isAbove,
  listOf,
  milliseconds,
  type OptionChecks,
  oneOf,
  text,
  valueThat,
} from '../base/options.ts'
import { dialectNames } from '../dialects/versions.ts'
import type { ConnectOptions } from './options.ts'
import type { PollOptions } from './resilience/poll.ts'

/** Throws a `TypeError` if an option of `connect` is unknown or wrong. `caller` is the function that takes the options. */
export function checkConnectOptions(options: ConnectOptions, caller = 'connect'): void {
  checkOptions(caller, options, optionChecks)
}

const aboveZero = isAbove(0)
const timeSpan = milliseconds({ min: 1 })
const delays = { minDelay: milliseconds(), maxDelay: milliseconds() }
const backoff = group<Backoff>({ ...delays, tries: aboveZero })

const optionChecks: OptionChecks<ConnectOptions> = {
  fetch: aFunction,
  auth: listOf(anObject),
  authorize: aFunction,
  onNotice: aFunction,
  timeout: timeSpan,
  retry: backoff,
  resume: backoff,
  polling: group<PollOptions>(delays),
  peerDeduplicates: flag,
  dialects: listOf(oneOf(...dialectNames)),
  bindings: listOf(
    valueThat("'JSONRPC', 'HTTP+JSON' or a transport such as grpc()", (value) =>
      isObject(value) ? 'open' in value : value === 'JSONRPC' || value === 'HTTP+JSON',
    ),
  ),
  extensions: listOf(text),
  fileBytes: oneOf('raw', 'base64'),
  cardCache: having('a cache such as createCardCache()', 'get', 'set'),
  verifyCard: aFunction,
  watch: aFunction,
  signal: having('an AbortSignal', 'aborted'),
  answerLimit: aboveZero,
  eventLimit: aboveZero,
  jsonDepth: integer({ min: 1 }),
  idle: timeSpan,
  openWithin: timeSpan,
  clock: clockCheck,
}
