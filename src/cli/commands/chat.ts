import { agentOptions, type Command, type Context, waitOptions } from '../command.ts'
import { Interrupted } from '../errors.ts'

export const chat: Command = {
  description:
    'Talks with an agent: answers appear as they are written, questions with choices become menus, those about objects become forms, and the context is carried from message to message. Ctrl-C cancels the running task, not the program. Without an agent, it offers those that were used last. Without a terminal, every line of stdin is a message. /help lists the commands.',
  positionals: [{ name: 'agent', summary: 'The agent, as --agent-card.', optional: true, complete: 'agent' }],
  options: {
    ...agentOptions,
    'task-id': { type: 'text', value: 'id', summary: 'Continue this task.', complete: 'task' },
    'context-id': { type: 'text', value: 'id', summary: 'Continue this context.', complete: 'context' },
    ...waitOptions,
  },
  examples: [
    { line: 'parley chat localhost:4000', summary: 'Talk with an agent' },
    { line: 'parley chat localhost:4000 --task-id 7f1c', summary: 'Go on with a task' },
    { line: 'printf "hello\\ncount\\n" | parley chat localhost:4000', summary: 'Send a script of messages' },
  ],
  async run(context) {
    const { runChat } = await import('../chat/session.ts')
    await runChat(await withAgent(context))
  },
}

/** Without an agent, a person chooses one of those that were used last. */
async function withAgent(context: Context): Promise<Context> {
  const { settings } = context
  if (settings.text('agent-card') !== undefined || !process.stdin.isTTY || !process.stdout.isTTY) return context
  const { recentAgents } = await import('../cards/card-cache.ts')
  const recent = recentAgents().slice(0, maxRecent)
  if (recent.length === 0) return context
  const { isCancel, select } = await import('@clack/prompts')
  const options = recent.map((value) => ({ value, label: value }))
  const chosen = await select({ message: 'Which agent? These were used last.', options })
  if (isCancel(chosen)) throw new Interrupted('No agent was chosen.')
  const text = (name: string) => (name === 'agent-card' ? chosen : settings.text(name))
  return { ...context, settings: { ...settings, text } }
}

/** Agents that are offered. */
const maxRecent = 10
