import { expect, it } from 'vitest'
import { operatorCommands } from '../../src/cli/commands/operate/operator/commands.ts'
import type { OperatorCommand } from '../../src/cli/commands/operate/operator/operation.ts'
import { createOperatorClient, type OperatorClient } from '../../src/entries/operator.ts'
import { operatorRoutes } from '../../src/operator/console.ts'
import { createReceivers } from '../../src/operator/receivers.ts'
import { matchRoute } from '../../src/operator/routes.ts'
import { createWireLog } from '../../src/operator/wire-log.ts'

const task = { agent: 'a', taskId: 't' }
const webhook = { ...task, id: 'w' }
const wire = { agent: 'a', binding: 'REST', method: 'GET', url: '/', headers: {}, body: '' } as const
const compose = { agent: 'a', dialect: '1.0', binding: 'REST', operation: 'getTask' } as const

/** A call of every method of the client. The compiler reports a method that is missing. */
const calls: { readonly [N in keyof OperatorClient]: Parameters<OperatorClient[N]> } = {
  ...{ session: [], login: [{ scheme: 'key' }], logout: [] },
  ...{ agents: [], cards: ['a'], doctor: ['a'], conformance: ['a'] },
  ...{ tasks: [], taskChanges: [{}], cancelTasks: [{ tasks: [] }], inbox: [], inboxChanges: [] },
  ...{ overview: ['hour'], usage: [] },
  ...{ task: [task], events: [task], event: [task, 1], eventChanges: [task, 0], seenAs: [task, '0.3'] },
  ...{ calls: [task], trace: [task], log: [task], answer: [task, {}], rerun: [task] },
  ...{ composeWire: [compose], sendWire: [wire] },
  ...{ wireLog: [], wireLogChanges: [{}], wireExchange: [1], wireHar: [] },
  ...{ connections: [], connect: [{ url: 'u' }], disconnect: ['a'] },
  ...{ webhooks: [], deliveries: [webhook], pauseWebhook: [webhook], resumeWebhook: [webhook], redeliver: [webhook] },
  ...{ createReceiver: [], receivedDeliveries: ['r'] },
  ...{ registryAgents: [], addToRegistry: ['u'], probe: ['i'], mesh: [], gateway: [] },
}

/** What only browsers need: the command line sends credentials with every request, and calls other agents itself. */
const withoutCommand = ['login', 'logout', 'connections', 'connect', 'disconnect']

/** The requests that the client sends, as method and path. */
async function requestsOf(name: keyof OperatorClient): Promise<readonly (readonly [string, string])[]> {
  const requests: (readonly [string, string])[] = []
  const client = createOperatorClient({
    url: 'http://server.invalid/console',
    async fetch(url, { method = 'GET' }) {
      requests.push([method, new URL(url).pathname.replace('/console/api/v1', '')])
      return Response.json({})
    },
  })
  const answer: unknown = (client[name] as (...args: readonly unknown[]) => unknown)(...calls[name])
  if (Symbol.asyncIterator in Object(answer)) await (answer as AsyncGenerator).next()
  else await answer
  return requests
}

it('every operation of the operator API has a method of the client', async () => {
  const unused = () => {
    throw new Error('No route is called.')
  }
  const routes = operatorRoutes({
    agents: { all: () => [], get: unused },
    lines: { process: '', of: () => [] },
    state: unused,
    checks: { doctor: unused, conformance: unused },
    mesh: { process: '', state: unused },
    registry: { list: unused, add: unused, probe: unused },
    gateway: unused,
    receivers: createReceivers({ state: unused, addressOf: unused }),
    answer: unused,
    wireLog: createWireLog(),
    version: '',
    connections: { connect: unused, remove: unused, recent: unused, finish: unused },
  })
  const requests = (await Promise.all((Object.keys(calls) as (keyof OperatorClient)[]).map(requestsOf))).flat()
  const reached = requests
    .filter(([, path]) => path !== '/session')
    .map(([method, path]) => matchRoute(routes, method, path).route)
  const nameOf = ({ method, path }: { readonly method: string; readonly path: string }) => `${method} ${path}`
  expect([...new Set(reached.map(nameOf))].sort()).toEqual(routes.map(nameOf).sort())
  const forViewers = routes.filter(({ method, role }) => method !== 'GET' && role === 'viewer')
  expect(forViewers.map(nameOf)).toEqual(['POST /wire/compose'])
})

it('every operation of the operator API has a command', async () => {
  const commands = await Promise.all(operatorCommands.map(({ load }) => load()))
  const called = commands.flatMap((command) => (command as OperatorCommand).calls)
  const expected = Object.keys(calls).filter((name) => !withoutCommand.includes(name))
  expect([...new Set(called)].sort()).toEqual(expected.sort())
})
