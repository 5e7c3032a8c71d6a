import { expect, it } from 'vitest'
import { connect } from '../../src/entries/client.node.ts'
import {
  agent,
  createHandler,
  createHost,
  createLogger,
  createMemoryLog,
  createSqliteLog,
} from '../../src/entries/index.ts'
import { createAgentLoop } from '../../src/entries/loop.ts'
import { createGuardedFetch, createPushFetch, grpc } from '../../src/entries/node.ts'
import { createPostgresLog } from '../../src/entries/postgres.ts'
import { scriptedModel } from '../support/models/scripted-model.ts'

const echo = agent({ name: 'Echo' }, ({ text }) => text)
const pool = { query() {}, connect() {}, on() {} }

/** Calls with a member that is misspelled, and the member that was meant. Types would reject them; JavaScript does not. */
const calls: readonly (readonly [() => unknown, string])[] = [
  [
    () => agent({ name: 'Echo', skils: [] } as never, () => ''),
    'agent(Echo): skils is not an option. Did you mean skills?',
  ],
  [
    () => agent({ name: 'Echo', recovery: 'resum' } as never, () => ''),
    "agent(Echo): recovery: expected 'fail', 'retry', 'resume' or { policy, attempts }, got \"resum\".",
  ],
  [
    () => createHandler(echo, { auth: 'none', bodyLimit: 1 } as never),
    'createHandler(Echo): bodyLimit is not an option. Did you mean http.bodyLimit?',
  ],
  [
    () => createHost().add(echo, { auth: 'none', moutn: '/a' } as never),
    'host.add(Echo): moutn is not an option. Did you mean mount?',
  ],
  [() => createLogger({ levle: 'info' } as never), 'createLogger: levle is not an option. Did you mean level?'],
  [() => createSqliteLog({ flie: 'a.db' } as never), 'createSqliteLog: flie is not an option. Did you mean file?'],
  [() => createSqliteLog({} as never), 'createSqliteLog: file: expected a non-empty string, got undefined.'],
  [
    () => createPostgresLog({ pool, shema: 'a' } as never),
    'createPostgresLog: shema is not an option. Did you mean schema?',
  ],
  [
    () => createPostgresLog({ pool: 'postgres://localhost/parley' } as never),
    'createPostgresLog: pool: expected a Pool of the package pg, got "postgres://localhost/parley".',
  ],
  [() => createPostgresLog({} as never), 'createPostgresLog: pool: expected a Pool of the package pg, got undefined.'],
  [
    () => createAgentLoop({ model: scriptedModel(), maxStep: 3 } as never),
    'createAgentLoop: maxStep is not an option. Did you mean maxSteps?',
  ],
  [
    () => createMemoryLog({ keepEnd: 5 } as never),
    'createMemoryLog: keepEnd is not an option. Did you mean keepEnded?',
  ],
  [() => createMemoryLog({ keepEnded: -1 }), 'createMemoryLog: keepEnded: expected an integer of at least 0, got -1.'],
  [
    () => createHandler(echo, { auth: 'none', retention: { complete: 5 } } as never),
    'createHandler(Echo): retention.complete is not an option. Did you mean completed?',
  ],
  [() => createGuardedFetch({ alow: [] } as never), 'createGuardedFetch: alow is not an option. Did you mean allow?'],
  [
    () => createGuardedFetch({ loopback: 'yes' } as never),
    'createGuardedFetch: loopback: expected one of "allow", "refuse", got "yes".',
  ],
  [() => createPushFetch({ timeuot: 5 } as never), 'createPushFetch: timeuot is not an option. Did you mean timeout?'],
  [() => grpc({ keepalive: 5 } as never), 'grpc: keepalive is not an option. Did you mean keepAlive?'],
  [
    () => connect('http://127.0.0.1:1', { dialects: ['v2.0'] } as never),
    'connect: dialects[0]: expected one of "v0.1", "v0.2", "v0.3", "v0.3-house", "v0.3-proto", "v1.0", got "v2.0".',
  ],
  [
    () => connect('http://127.0.0.1:1', { timout: 3 } as never),
    'connect: timout is not an option. Did you mean timeout?',
  ],
  [
    () => connect('http://127.0.0.1:1', { timeout: '10s' } as never),
    'connect: timeout: expected a number of milliseconds of at least 1, such as 30_000, got "10s".',
  ],
]

it.each(calls)('%s is refused: %s', async (call, message) => {
  await expect(async () => await call()).rejects.toThrow(message)
})
