import { describe, expect, it } from 'vitest'
import { agent } from '../core/agent/agent.ts'
import type { ServeOptions } from './options.ts'
import { serve } from './serve.ts'

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
    [{ dialects: ['v2.0'] }, 'serve: dialects: expected a list of versions'],
    [{ dialects: { stric: true } }, 'serve: dialects.stric is not an option. Did you mean strict?'],
    [{ dialects: { house: { code: true } } }, 'serve: dialects.house.code is not an option. Did you mean codes?'],
    [{ anonymous: { listAll: true } }, 'serve: anonymous is not an option. Did you mean auth.anonymous?'],
    [
      { auth: { anonymous: { listall: true } } },
      'serve: auth.anonymous.listall is not an option. Did you mean listAll?',
    ],
    [{ auth: { scheme: {} } }, 'serve: auth.scheme is not an option. Did you mean schemes?'],
    [{ auth: { schemes: { key: {} } } }, 'serve: auth.schemes.key: expected a scheme such as apiKey('],
    [{ push: { atempts: 1 } }, 'serve: push.atempts is not an option.'],
    [{ push: { retry: { atempts: 1 } } }, 'serve: push.retry.atempts is not an option. Did you mean attempts?'],
    [{ calls: { maxdepth: 1 } }, 'serve: calls.maxdepth is not an option. Did you mean maxDepth?'],
    [{ extendedCard: { skils: [] } }, 'serve: extendedCard.skils is not an option. Did you mean skills?'],
    [{ cors: { origin: '*' } }, 'serve: cors.origin is not an option. Did you mean origins?'],
    [{ http: { overload: { heep: 1 } } }, 'serve: http.overload.heep is not an option. Did you mean heap?'],
    [{ recovery: { polcy: 'retry' } }, 'serve: recovery.polcy is not an option. Did you mean policy?'],
    [{ http: { overload: true } }, 'serve: http.overload: expected false, or an object'],
  ])('%j is refused at start with a sentence that names the option', async (options, message) => {
    await expect(start(options)).rejects.toThrow(message)
  })

  it.each([undefined, null, 'echo', {}, { '/echo': undefined }])(
    '%j in place of an agent is refused',
    async (value) => {
      await expect(serve(value as never, { signals: false })).rejects.toThrow(/^serve\(\): .*expected an agent/)
    },
  )
})
