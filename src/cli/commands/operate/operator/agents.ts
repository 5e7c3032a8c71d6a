import type { CheckProgress } from '../../../../entries/operator.ts'
import type { Context } from '../../../command.ts'
import { usageError } from '../../../errors.ts'
import { timeText } from '../db.ts'
import { agentPositional, operation, watching } from './operation.ts'

export const operatorSession = operation(
  {
    calls: ['session'],
    description:
      'Shows as whom the server accepts the credentials, with which role, and what its console has. The command line sends credentials with every request, and needs no login.',
    examples: [{ line: 'parley operator session', summary: 'May I cancel tasks?' }],
  },
  (operator) => operator.session(),
  ({ role, principal, server }, { output }) => {
    output.field('Role', role)
    if (principal) output.field('Principal', principal.id)
    output.field('Version', server.version)
    output.field('Started', timeText(server.started))
    output.field('Features', server.features.join(', '))
  },
)

export const operatorAgents = operation(
  {
    calls: ['agents'],
    description: 'Lists the agents of a running server.',
    examples: [{ line: 'parley operator agents', summary: 'The ids that other commands take' }],
  },
  (operator) => operator.agents(),
  ({ agents }, { output }) => {
    for (const { id, name, url, skills } of agents) {
      output.field('Agent', `${id} ${url} ${name}, ${skills.map((skill) => skill.id).join(', ') || 'no skills'}`)
    }
  },
)

export const operatorCards = operation(
  {
    calls: ['cards'],
    description: 'Shows the card of an agent in every version, and whether its signature is valid.',
    positionals: [agentPositional],
    examples: [{ line: 'parley operator cards echo -o json', summary: 'The cards' }],
  },
  (operator, context) => operator.cards(agentOf(context)),
  ({ cards, signature }, { output }) => {
    const { state, reason } = signature
    output.field('Signature', reason === undefined ? state : `${state}: ${reason}`)
    for (const { version, card } of cards) output.field(version, JSON.stringify(card, undefined, 2))
  },
)

export const operatorDoctor = watching(
  {
    calls: ['doctor'],
    description: 'Has the server diagnose one of its agents. The exit code is 1 if there are errors.',
    positionals: [agentPositional],
    examples: [{ line: 'parley operator doctor echo', summary: 'What is wrong with an agent' }],
  },
  (operator, context, signal) => operator.doctor(agentOf(context), signal),
  printProgress,
)

export const operatorConformance = watching(
  {
    calls: ['conformance'],
    description:
      'Has the server judge one of its agents by the rules of A2A, which sends real messages. The exit code is 1 if the agent breaks a rule.',
    positionals: [agentPositional],
    examples: [{ line: 'parley operator conformance echo', summary: 'Does the agent follow A2A?' }],
  },
  (operator, context, signal) => operator.conformance(agentOf(context), signal),
  printProgress,
)

function printProgress(progress: CheckProgress, { output }: Context): void {
  if (progress.type === 'finding') {
    const { id, outcome, level, title, detail } = progress.finding
    if (outcome === 'passed' && !output.isVerbose) return
    output.field(outcome, `${level === undefined ? '' : `${level} `}${id}: ${title}${detail ? ` (${detail})` : ''}`)
  } else if (progress.type === 'failed') {
    output.field('Failed', progress.message)
    process.exitCode = 1
  } else if (progress.type === 'done') {
    const { counts } = progress
    output.field(
      'Summary',
      Object.entries(counts)
        .map(([name, count]) => `${count} ${name}`)
        .join(', '),
    )
    if ((counts.error ?? 0) + (counts.failed ?? 0) > 0) process.exitCode = 1
  }
}

function agentOf({ positionals }: Context): string {
  const [agent] = positionals
  if (agent === undefined) throw usageError('Name the agent: parley operator agents lists them.')
  return agent
}
