import { defined } from '../../../../core/base/json.ts'
import type { RegistryRow } from '../../../../entries/operator.ts'
import type { Context } from '../../../command.ts'
import { usageError } from '../../../errors.ts'
import { timeText } from '../db.ts'
import { cursorOption, operation } from './operation.ts'

export const operatorRegistry = operation(
  {
    calls: ['registryAgents'],
    description: 'Lists the agents of a served registry with their health over time.',
    options: {
      search: { type: 'text', value: 'text', summary: 'Only agents with these words.', onlyFlag: true },
      ...cursorOption,
    },
    examples: [
      { line: 'parley operator registry list --server http://127.0.0.1:4100', summary: 'Which agents are up' },
    ],
  },
  (operator, { settings }) => {
    const [search, cursor] = [settings.text('search'), settings.text('cursor')]
    return operator.registryAgents(defined({ search, cursor }))
  },
  ({ agents, next }, context) => {
    for (const agent of agents) printAgent(agent, context)
    context.output.field('Total', `${agents.length}`)
    if (next !== undefined) context.output.field('Next page', `--cursor ${next}`)
  },
)

export const operatorRegistryAdd = operation(
  {
    calls: ['addToRegistry'],
    description: 'Adds the agent at an address to a served registry.',
    positionals: [{ name: 'url', summary: 'The address of the agent, or of its card.' }],
    examples: [{ line: 'parley operator registry add https://agent.example.com', summary: 'Add an agent' }],
  },
  (operator, { positionals: [url] }) => {
    if (url === undefined) throw usageError('Name the address of the agent.')
    return operator.addToRegistry(url)
  },
  printAgent,
)

export const operatorRegistryProbe = operation(
  {
    calls: ['probe'],
    description: 'Checks an agent of a served registry now. The exit code is 1 if it is down.',
    positionals: [{ name: 'id', summary: 'The id of the agent in the registry.' }],
    examples: [{ line: 'parley operator registry probe 5b1e…', summary: 'Is the agent up?' }],
  },
  (operator, { positionals: [id] }) => {
    if (id === undefined) throw usageError('Name the id of the agent.')
    return operator.probe(id)
  },
  (agent, context) => {
    printAgent(agent, context)
    if (agent.health === 'down') process.exitCode = 1
  },
)

export const operatorMesh = operation(
  {
    calls: ['mesh'],
    description: 'Shows a served mesh peer, its sessions with other peers, and its last envelopes without payloads.',
    examples: [{ line: 'parley operator mesh', summary: 'Who talks to this peer' }],
  },
  (operator) => operator.mesh(),
  ({ self, peers, envelopes }, { output }) => {
    output.field('Peer', `${self.id} ${self.url}${self.fingerprint === undefined ? '' : ` ${self.fingerprint}`}`)
    for (const { id, state, url, lastSeen } of peers) {
      const seen = lastSeen === undefined ? '' : `, last seen ${timeText(lastSeen)}`
      output.field('Session', `${id} ${state}${url === undefined ? '' : ` ${url}`}${seen}`)
    }
    for (const { at, direction, peer, type, id, problem } of envelopes) {
      output.field(
        'Envelope',
        `${timeText(at)} ${direction} ${type} ${peer} ${id}${problem === undefined ? '' : `: ${problem}`}`,
      )
    }
  },
)

function printAgent({ id, kind, name, url, health, probes }: RegistryRow, { output }: Context): void {
  const last = probes.at(-1)
  const probe = last === undefined ? '' : `, probed ${timeText(last.at)}${last.problem ? `: ${last.problem}` : ''}`
  const up = probes.length === 0 ? '' : `, up in ${probes.filter(({ isUp }) => isUp).length} of ${probes.length} probes`
  output.field('Agent', `${id} ${kind} ${health} ${url} ${name}${up}${probe}`)
}

export const operatorGateway = operation(
  {
    calls: ['gateway'],
    description:
      'Shows the agents behind a gateway with their addresses, versions, traffic and errors, what translations lost, and the last calls that a rule refused.',
    examples: [{ line: 'parley operator gateway', summary: 'Which agents are reachable, and who was refused' }],
  },
  (operator) => operator.gateway(),
  ({ agents, sources, refusals }, { output }) => {
    for (const { name, mode, state, endpoint, failure, addresses, losses, traffic } of agents) {
      const version = endpoint ? ` ${endpoint.dialect} ${endpoint.binding}` : ''
      output.field(name, `${state}, ${mode}${version}${failure === undefined ? '' : `: ${failure}`}`)
      const { calls, failed, refused, upstream } = traffic
      output.field('  Calls', `${calls}, ${failed} failed, ${refused} refused; ${upstream.calls} to the agent`)
      for (const { url, state: health, open } of addresses) output.field('  Address', `${url} ${health}, ${open} open`)
      for (const { member, towards, dialect, count } of losses) {
        output.field('  Lost', `${member} towards the ${towards} (${dialect}), ${count} times`)
      }
    }
    for (const { url, agents: count, failure } of sources) {
      output.field('Catalog', `${url}, ${count} agents${failure === undefined ? '' : `: ${failure}`}`)
    }
    for (const { at, principal, agent, operation: called, rule, code } of refusals) {
      output.field('Refused', `${timeText(at)} ${principal} → ${agent} ${called} by ${rule} (${code})`)
    }
  },
)
