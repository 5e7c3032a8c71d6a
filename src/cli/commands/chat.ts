import type { Command } from '../command.ts'
import { agentOptions, waitOptions } from '../command.ts'

export const chat: Command = {
  description:
    'Talks with an agent: answers appear as they are written, questions with choices become menus, and the context is carried from message to message. Ctrl-C cancels the running task, not the program. Without a terminal, every line of stdin is a message. /help lists the commands.',
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
    await runChat(context)
  },
}
