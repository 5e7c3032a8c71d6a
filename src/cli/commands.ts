import type { CommandEntry } from './command.ts'
import { operatorCommands } from './commands/operate/operator/commands.ts'

// To add a command:
//
// 1. Write it in a file of commands/ as an exported constant of type `Command`: its options, positional arguments and
//    examples, and `run(context)`. Spread `agentOptions` (command.ts) into its options if it calls an agent, and open
//    the agent by `openAgent(context)` (agent.ts). Import prompts and heavy modules inside `run`.
// 2. Add a line to the list below. The file is loaded only when its command runs.
//
// Payload goes to stdout by `output.print` (text) or `output.document` and `output.line` (JSON), everything else to
// stderr by `output.note`, `warn` and `progress`. Failures are thrown: `CliError` (errors.ts) or `A2AError`; run.ts
// prints them and chooses the exit code. The help, the completion and docs/guides/cli.md come from the same definitions.

export const commands: readonly CommandEntry[] = [
  {
    path: 'card get',
    group: 'Talk to agents',
    summary: 'Show what an agent is, offers and requires',
    load: async () => (await import('./commands/card.ts')).cardGet,
  },
  {
    path: 'send',
    group: 'Talk to agents',
    summary: 'Send a message and wait for the answer',
    load: async () => (await import('./commands/send.ts')).send,
  },
  {
    path: 'chat',
    group: 'Talk to agents',
    summary: 'Talk with an agent',
    load: async () => (await import('./commands/chat.ts')).chat,
  },
  {
    path: 'task get',
    group: 'Talk to agents',
    summary: 'Show a task, or wait for it',
    load: async () => (await import('./commands/task.ts')).taskGet,
  },
  {
    path: 'task list',
    group: 'Talk to agents',
    summary: 'List your tasks',
    load: async () => (await import('./commands/task.ts')).taskList,
  },
  {
    path: 'task cancel',
    group: 'Talk to agents',
    summary: 'Cancel a task',
    load: async () => (await import('./commands/task.ts')).taskCancel,
  },
  {
    path: 'task subscribe',
    group: 'Talk to agents',
    summary: 'Follow a task',
    load: async () => (await import('./commands/task.ts')).taskSubscribe,
  },
  {
    path: 'task download',
    group: 'Talk to agents',
    summary: 'Save the artifacts of a task',
    load: async () => (await import('./commands/task-download.ts')).taskDownload,
  },
  {
    path: 'task push-config create',
    group: 'Talk to agents',
    summary: 'Register a webhook for a task',
    load: async () => (await import('./commands/push-config.ts')).pushConfigCreate,
  },
  {
    path: 'task push-config get',
    group: 'Talk to agents',
    summary: 'Show a webhook of a task',
    load: async () => (await import('./commands/push-config.ts')).pushConfigGet,
  },
  {
    path: 'task push-config list',
    group: 'Talk to agents',
    summary: 'List the webhooks of a task',
    load: async () => (await import('./commands/push-config.ts')).pushConfigList,
  },
  {
    path: 'task push-config delete',
    group: 'Talk to agents',
    summary: 'Remove a webhook of a task',
    load: async () => (await import('./commands/push-config.ts')).pushConfigDelete,
  },
  {
    path: 'doctor',
    group: 'Check agents',
    summary: 'Find out what is wrong with an agent',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  {
    path: 'conformance',
    group: 'Check agents',
    summary: 'Judge an agent by the rules of A2A',
    load: async () => (await import('./commands/conformance.ts')).conformanceCommand,
  },
  {
    path: 'gateway',
    group: 'Serve and develop',
    summary: 'Serve agents of any version at one address',
    load: async () => (await import('./commands/gateway.ts')).gatewayCommand,
  },
  {
    path: 'init',
    group: 'Serve and develop',
    summary: 'Start a project with an agent',
    load: async () => (await import('./commands/init.ts')).init,
  },
  {
    path: 'serve',
    group: 'Serve and develop',
    summary: 'Serve agents from files, reloaded on change',
    load: async () => (await import('./commands/serve.ts')).serveCommand,
  },
  {
    path: 'listen',
    group: 'Serve and develop',
    summary: 'Receive push notifications and print them',
    load: async () => (await import('./commands/listen.ts')).listen,
  },
  {
    path: 'console',
    group: 'Serve and develop',
    summary: 'Open the console for agents of other servers',
    load: async () => (await import('./commands/console.ts')).consoleCommand,
  },
  {
    path: 'types',
    group: 'Serve and develop',
    summary: 'Write types for the skills of an agent',
    load: async () => (await import('./commands/types.ts')).types,
  },
  {
    path: 'demo-server',
    group: 'Serve and develop',
    summary: 'Serve an agent that shows everything',
    load: async () => (await import('./commands/demo-server.ts')).demoServer,
  },
  {
    path: 'db backup',
    group: 'Operate',
    summary: 'Back up a task log while its agents run',
    load: async () => (await import('./commands/operate/db.ts')).dbBackup,
  },
  {
    path: 'db restore',
    group: 'Operate',
    summary: 'Restore a task log from a backup',
    load: async () => (await import('./commands/operate/db.ts')).dbRestore,
  },
  {
    path: 'db check',
    group: 'Operate',
    summary: 'Find damage in a task log',
    load: async () => (await import('./commands/operate/db.ts')).dbCheck,
  },
  {
    path: 'db stats',
    group: 'Operate',
    summary: 'Measure a task log',
    load: async () => (await import('./commands/operate/db.ts')).dbStats,
  },
  {
    path: 'db migrate',
    group: 'Operate',
    summary: 'Plan the migration of a task log, or run it',
    load: async () => (await import('./commands/operate/db.ts')).dbMigrate,
  },
  {
    path: 'db import-sdk',
    group: 'Operate',
    summary: 'Copy the tasks of the official SDK into a task log',
    load: async () => (await import('./commands/operate/import-sdk.ts')).dbImportSdk,
  },
  {
    path: 'tasks',
    group: 'Operate',
    summary: 'List the tasks in a task log',
    load: async () => (await import('./commands/operate/tasks.ts')).tasks,
  },
  ...operatorCommands,
  {
    path: 'keys new',
    group: 'Operate',
    summary: 'Create a signing key or an API key',
    load: async () => (await import('./commands/operate/keys.ts')).keysNew,
  },
  {
    path: 'registry serve',
    group: 'Operate',
    summary: 'Serve a registry of agents',
    load: async () => (await import('./commands/operate/registry.ts')).registryServe,
  },
  {
    path: 'registry list',
    group: 'Operate',
    summary: 'List the agents of a registry',
    load: async () => (await import('./commands/operate/registry.ts')).registryList,
  },
  {
    path: 'registry search',
    group: 'Operate',
    summary: 'Search the agents of a registry',
    load: async () => (await import('./commands/operate/registry.ts')).registrySearch,
  },
  {
    path: 'registry add',
    group: 'Operate',
    summary: 'Add an agent to a registry',
    load: async () => (await import('./commands/operate/registry.ts')).registryAdd,
  },
  {
    path: 'registry probe',
    group: 'Operate',
    summary: 'Show what registries observe about an agent',
    load: async () => (await import('./commands/operate/registry.ts')).registryProbe,
  },
  {
    path: 'mesh keygen',
    group: 'Operate',
    summary: 'Create the key of a mesh peer',
    load: async () => (await import('./commands/operate/keys.ts')).meshKeygen,
  },
  {
    path: 'mesh send',
    group: 'Operate',
    summary: 'Call a method of a mesh peer',
    load: async () => (await import('./commands/operate/mesh.ts')).meshSend,
  },
  {
    path: 'mesh ping',
    group: 'Operate',
    summary: 'Make a handshake with a mesh peer',
    load: async () => (await import('./commands/operate/mesh.ts')).meshPing,
  },
  {
    path: 'auth login',
    group: 'Settings and help',
    summary: 'Obtain and store credentials for an agent',
    load: async () => (await import('./commands/auth.ts')).authLogin,
  },
  {
    path: 'auth logout',
    group: 'Settings and help',
    summary: 'Forget stored credentials',
    load: async () => (await import('./commands/auth.ts')).authLogout,
  },
  {
    path: 'auth status',
    group: 'Settings and help',
    summary: 'Show stored logins',
    load: async () => (await import('./commands/auth.ts')).authStatus,
  },
  {
    path: 'config show',
    group: 'Settings and help',
    summary: 'Show every setting and where it comes from',
    load: async () => (await import('./commands/config.ts')).configShow,
  },
  {
    path: 'config set',
    group: 'Settings and help',
    summary: 'Store a setting for later commands',
    load: async () => (await import('./commands/config.ts')).configSet,
  },
  {
    path: 'completion',
    group: 'Settings and help',
    summary: 'Print a completion script for your shell',
    load: async () => (await import('./commands/completion.ts')).completion,
  },
  {
    path: '__complete',
    group: 'Settings and help',
    summary: 'Print what the shell completes',
    isHidden: true,
    load: async () => (await import('./commands/completion.ts')).complete,
  },
  {
    path: 'help',
    group: 'Settings and help',
    summary: 'Show the commands, or the help of one',
    load: async () => (await import('./commands/help.ts')).help,
  },
]

/** The command at the start of a list of words, and how many words name it. */
export function findCommand(words: readonly string[]): { entry: CommandEntry; length: number } | undefined {
  for (const length of [3, 2, 1]) {
    const path = words.slice(0, length).join(' ')
    const entry = words.length >= length ? commands.find((candidate) => candidate.path === path) : undefined
    if (entry) return { entry, length }
  }
  return undefined
}

/** The commands below a word, such as those of `task`. */
export function commandsBelow(words: readonly string[]): readonly CommandEntry[] {
  const prefix = words.map((word) => `${word} `).join('')
  return commands.filter(({ path }) => path.startsWith(prefix))
}
