import { describe, expect, it } from 'vitest'
import {
  aFunction,
  anyOf,
  checkOptions,
  flag,
  group,
  having,
  httpUrl,
  integer,
  listOf,
  milliseconds,
  oneOf,
  path,
  text,
} from './options.ts'

const checks = {
  port: integer({ min: 0, max: 65_535 }),
  host: text,
  grpc: flag,
  publicUrl: httpUrl,
  path,
  mode: oneOf('queue', 'reject'),
  onError: aFunction,
  log: having('a task log such as createMemoryLog()', 'append', 'close'),
  tags: listOf(text),
  metrics: anyOf('true, false or an object', flag, group({ path })),
  turns: group({ deadline: milliseconds({ min: 1 }) }),
}
const check = (options: object) => () => checkOptions('serve', options as never, checks as never)

describe('checkOptions', () => {
  it('options of the right form pass, and undefined counts as not set', () => {
    const log = { append() {}, close() {} }
    const options = { port: 0, host: 'localhost', grpc: true, log, onError() {}, tags: ['a'], metrics: { path: '/m' } }
    expect(check({ ...options, mode: undefined, turns: { deadline: 5 } })).not.toThrow()
  })

  it.each([
    [{ prot: 1 }, 'serve: prot is not an option. Did you mean port?'],
    [{ turns: { dedline: 1 } }, 'serve: turns.dedline is not an option. Did you mean deadline?'],
    [{ deadline: 1 }, 'serve: deadline is not an option. Did you mean turns.deadline?'],
    [{ turnDeadline: 1 }, 'serve: turnDeadline is not an option. Did you mean turns.deadline?'],
    [{ zzzzzz: 1 }, 'serve: zzzzzz is not an option. The options are port, host,'],
    [{ toString: 1 }, 'serve: toString is not an option.'],
    [{ port: '4000x' }, 'serve: port: expected an integer from 0 to 65535, got "4000x".'],
    [{ port: 70_000 }, 'serve: port: expected an integer from 0 to 65535, got 70000.'],
    [{ turns: { deadline: '10s' } }, 'serve: turns.deadline: expected a number of milliseconds of at least 1'],
    [{ turns: { deadline: -1 } }, 'serve: turns.deadline: expected a number of milliseconds of at least 1'],
    [{ turns: 5 }, 'serve: turns: expected an object with deadline, got 5.'],
    [{ publicUrl: 'foo' }, 'serve: publicUrl: expected an absolute http or https URL'],
    [{ publicUrl: 'ftp://example.com' }, 'serve: publicUrl: expected an absolute http or https URL'],
    [{ path: 'agents' }, 'serve: path: expected a path that starts with a slash'],
    [{ mode: 'queu' }, 'serve: mode: expected one of "queue", "reject", got "queu". Did you mean "queue"?'],
    [{ log: {} }, 'serve: log: expected a task log such as createMemoryLog(), got an object with no members.'],
    [{ grpc: 'yes' }, 'serve: grpc: expected true or false, got "yes".'],
    [{ tags: ['a', 1] }, 'serve: tags[1]: expected a non-empty string, got 1.'],
    [{ metrics: 'on' }, 'serve: metrics: expected true, false or an object, got "on".'],
    [{ onError: 'log' }, 'serve: onError: expected a function, got "log".'],
  ])('%j is refused with a sentence that names the option', (options, message) => {
    expect(check(options)).toThrow(message)
  })

  it('options that are not an object are rejected', () => {
    expect(check(null as never)).toThrow('serve: expected an object of options, got null.')
  })
})
