import { describe, expect, it } from 'vitest'
import { agent } from './agent/agent.ts'
import { serve } from './serve.ts'
import type { ServeOptions } from './serve-options.ts'

const echo = agent({ name: 'Echo' }, ({ text }) => text)
const start = (options: object) => serve(echo, { signals: false, ...options } as ServeOptions)

describe('options of serve', () => {
  it.each([
    [{ prot: 1 }, 'serve: prot is not an option. Did you mean port?'],
    [{ port: '4000x' }, 'serve: port: expected an integer from 0 to 65535, got "4000x".'],
    [{ turnDeadline: '10s' }, 'serve: turnDeadline is not an option. Did you mean turns.deadline?'],
    [{ turns: { deadline: '10s' } }, 'serve: turns.deadline: expected a number of milliseconds of at least 1'],
    [{ publicUrl: 'foo' }, 'serve: publicUrl: expected an absolute http or https URL'],
    [{ tls: {} }, 'serve: tls: expected key and cert, or pfx'],
    [{ http: { heartbeat: -1 } }, 'serve: http.heartbeat: expected a number of milliseconds of at least 1'],
    [{ heartbeat: -1 }, 'serve: heartbeat is not an option. Did you mean http.heartbeat?'],
    [{ log: {} }, 'serve: log: expected a task log such as createMemoryLog() or createSqliteLog()'],
    [{ turns: { whileBusy: 'x' } }, 'serve: turns.whileBusy: expected one of "queue", "reject", "interrupt", got "x".'],
    [{ dialects: ['v1.1'] }, 'serve: dialects: expected a list of versions'],
    [{ dialects: { stric: true } }, 'serve: dialects.stric is not an option. Did you mean strict?'],
    [{ dialects: { house: { code: true } } }, 'serve: dialects.house.code is not an option. Did you mean codes?'],
    [{ http: { overload: true } }, 'serve: http.overload: expected false, or an object'],
  ])('%j is refused at start with a sentence that names the option', async (options, message) => {
    await expect(start(options)).rejects.toThrow(message)
  })
})
