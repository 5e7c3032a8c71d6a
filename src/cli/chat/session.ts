import { existsSync } from 'node:fs'
import { defined, isObject, type Json, type JsonObject } from '../../core/base/json.ts'
import { A2AError } from '../../core/protocol/errors.ts'
import { clientTools, inputRequestIn, toolResult } from '../../core/protocol/extensions/client-tools.ts'
import { type ClientEvent, credentialsExtension, credentialsPart, type Part, type Task } from '../../entries/client.ts'
import { type AgentConnection, openAgent } from '../agent.ts'
import type { Context } from '../command.ts'
import { CliError, toFailure } from '../errors.ts'
import { readFilePart } from '../message-parts.ts'
import { wrapLine } from '../output.ts'
import { describeFile, isSettled, stateName, untilInterrupted } from '../render.ts'
import { resolveTaskId } from '../task-ids.ts'
import { pollInterval } from '../wait.ts'
import { createMarkdownWriter } from './markdown.ts'
import { choicesOf, createPrompts, isFormSchema, isInteractive, type Prompts } from './prompts.ts'
import { createScreen } from './screen.ts'

const commandHelp: Readonly<Record<string, string>> = {
  '/help': 'Show these commands',
  '/file <path|url>': 'Attach a file to the next message; @path inside a message does the same',
  '/task': 'Show the ids and the state of the current task',
  '/tasks': 'List the tasks of this context',
  '/new': 'Start a new context',
  '/resume <task-id>': 'Continue another task',
  '/cancel': 'Cancel the current task',
  '/card': 'Show what the agent offers',
  '/quit': 'End the chat (also Ctrl-D)',
}

/** A conversation with one agent. It carries the context, and the task while that waits for an answer. */
interface Conversation {
  contextId: string | undefined
  task: Task | undefined
  readonly attached: Part[]
}

/** Reads messages and prints answers until the user leaves. */
export async function runChat(context: Context): Promise<void> {
  const { settings, output } = context
  const interval = pollInterval(context)
  const agent = await openAgent(context, {
    polling: { minDelay: interval, maxDelay: interval * 8 },
    onNotice: ({ message }) => output.detail(message),
    supports: [clientTools, credentialsExtension],
  })
  const prompts = createPrompts(output)
  const conversation: Conversation = { contextId: settings.text('context-id'), task: undefined, attached: [] }
  const { name, description } = agent.client.card
  output.note(`${name}${description ? `: ${description}` : ''}`)
  output.note('/help lists the commands, Ctrl-D ends the chat.')
  const taskId = settings.text('task-id')
  try {
    if (taskId !== undefined) await resume(await resolveTaskId(taskId, agent), conversation, agent, context)
    for (;;) {
      const parts = await nextMessage(conversation, prompts, agent, context)
      if (parts === undefined) break
      if (parts.length > 0) await guarded(context, () => takeTurn(parts, conversation, agent, context))
    }
  } finally {
    prompts.close()
  }
  if (conversation.contextId) output.note(`Context: ${conversation.contextId}`)
}

/** A failed call is shown, and the chat continues. */
async function guarded({ output, signal }: Context, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (signal.aborted) throw signal.reason
    const { message, hint } = toFailure(error)
    output.warn(`${message}${hint === undefined ? '' : ` ${hint}`}`)
  }
}

/** The parts of the next message, an empty list after a command, or undefined at the end. */
async function nextMessage(
  conversation: Conversation,
  prompts: Prompts,
  agent: AgentConnection,
  context: Context,
): Promise<readonly Part[] | undefined> {
  const { output } = context
  const answer = await answerOf(conversation.task, prompts, output)
  if (answer) return answer
  const line = await prompts.line(output.style('> ', 'bold'))
  if (line === undefined || /^\/(quit|exit)\b/.test(line.trim())) return undefined
  const text = line.trim()
  if (text.startsWith('/')) {
    await guarded(context, () => runChatCommand(text, conversation, agent, context))
    return []
  }
  if (text === '') return []
  const words = text.split(/\s+/)
  const paths = words.filter((word) => word.startsWith('@') && existsSync(word.slice(1))).map((word) => word.slice(1))
  const files = await Promise.all(paths.map((path) => readFilePart(path)))
  return [{ text }, ...files, ...conversation.attached.splice(0)]
}

/** Answers a question by a menu or a hidden input. Undefined if the next line is the answer. */
async function answerOf(
  task: Task | undefined,
  prompts: Prompts,
  output: Context['output'],
): Promise<readonly Part[] | undefined> {
  if (task?.status.state === 'auth-required') {
    const secret = await prompts.secret('Credentials for the agent (empty: none)')
    if (!secret) return undefined
    output.hide(secret)
    return [credentialsPart({ credentials: secret })]
  }
  const request = task?.status.state === 'input-required' ? inputRequestIn(task.status.message) : undefined
  if (!request) return undefined
  const question = typeof request.prompt === 'string' ? request.prompt : 'Your answer'
  const schema = isObject(request.schema) ? request.schema : undefined
  const choices = choicesOf(schema)
  if (isFormSchema(schema)) {
    const value = await prompts.form(question, schema)
    return value === undefined ? undefined : [resultPart(request, value)]
  }
  if (choices) {
    const value = await prompts.choice(question, choices)
    return value === undefined ? undefined : [resultPart(request, value)]
  }
  if (request.sensitive !== true) return undefined
  const secret = await prompts.secret(question)
  output.hide(secret)
  return secret === undefined ? undefined : [resultPart(request, secret)]
}

function resultPart({ requestId }: JsonObject, value: Json): Part {
  return { data: { toolUseId: requestId ?? '', result: value }, mediaType: toolResult }
}

/** Sends a message and prints the answer as it comes. Ctrl-C cancels the task. */
async function takeTurn(
  parts: readonly Part[],
  conversation: Conversation,
  agent: AgentConnection,
  context: Context,
): Promise<void> {
  const { task, contextId } = conversation
  const isOpen = task && (task.status.state === 'input-required' || task.status.state === 'auth-required')
  const options = {
    ...agent.call,
    ...defined({
      taskId: isOpen ? task.id : undefined,
      contextId: (contextId ?? task?.contextId) ? (contextId ?? task?.contextId ?? '') : undefined,
    }),
  }
  const events = (signal: AbortSignal) =>
    untilInterrupted(agent.client.stream(parts, { ...options, signal }), { continues: isOpen === true })
  await follow(events, conversation, agent, context)
}

async function follow(
  open: (signal: AbortSignal) => AsyncGenerator<ClientEvent>,
  conversation: Conversation,
  agent: AgentConnection,
  context: Context,
): Promise<void> {
  const { output, signal, onInterrupt } = context
  const aborter = new AbortController()
  let taskId: string | undefined
  let isCanceled = false
  const undo = onInterrupt(() => {
    if (isCanceled || taskId === undefined)
      return aborter.abort(new CliError('A2ACLI_ERR_TIMEOUT', 'The turn was left.'))
    isCanceled = true
    output.note('Canceling the task. Ctrl-C again leaves it alone.')
    agent.client
      .task(taskId)
      .cancel(agent.call)
      .catch(() => aborter.abort())
  })
  const screen = createScreen(output, 'Thinking…')
  const writer = createMarkdownWriter(screen, output.style)
  try {
    for await (const event of open(AbortSignal.any([signal, aborter.signal]))) {
      taskId = taskIdOf(event) ?? taskId
      const contextId =
        event.type === 'task'
          ? event.task.contextId
          : event.type === 'message'
            ? event.message.contextId
            : event.contextId
      if (contextId) conversation.contextId = contextId
      printEvent(event, writer, context)
    }
    signal.throwIfAborted()
  } catch (error) {
    if (!aborter.signal.aborted) throw error
    output.note('Left the task. It may go on: /task shows it.')
  } finally {
    writer.end()
    screen.end()
    undo()
  }
  conversation.task = taskId === undefined ? undefined : await agent.client.task(taskId).get(agent.call)
  if (conversation.task) reportState(conversation.task, output)
}

function taskIdOf(event: ClientEvent): string | undefined {
  if (event.type === 'task') return event.task.id
  return event.type === 'message' ? undefined : event.taskId
}

function printEvent(event: ClientEvent, writer: ReturnType<typeof createMarkdownWriter>, { output }: Context): void {
  const isProgress = event.type === 'status' && !isSettled(event)
  // A menu repeats the question itself.
  const parts = isInteractive() && hasMenu(event) ? [] : partsOf(event)
  for (const part of parts) {
    if ('text' in part) {
      if (isProgress) output.aside(part.text)
      else writer.write(event.type === 'artifact' ? part.text : `${part.text}\n`)
    } else if ('data' in part) {
      if (!isForm(part.data)) writer.write(`\`\`\`json\n${JSON.stringify(part.data, undefined, 2)}\n\`\`\`\n`)
    } else {
      writer.write(`[${describeFile(part)}]\n`)
    }
  }
  if (event.type === 'artifact' && event.lastChunk) writer.write('\n')
}

/** The data by which an agent describes a question or the credentials that it needs: the chat asks for them. */
function isForm(data: Json): boolean {
  return isObject(data) && ('inputRequest' in data || 'credentialsType' in data)
}

function hasMenu(event: ClientEvent): boolean {
  if (event.type !== 'status' || event.status.state !== 'input-required') return false
  const { schema } = inputRequestIn(event.status.message) ?? {}
  const known = isObject(schema) ? schema : undefined
  return choicesOf(known) !== undefined || isFormSchema(known)
}

function partsOf(event: ClientEvent): readonly Part[] {
  switch (event.type) {
    case 'message':
      return event.message.parts
    case 'artifact':
      return event.artifact.parts
    case 'status':
      return event.status.message?.parts ?? []
    case 'task':
      return [...event.task.artifacts.flatMap(({ parts }) => parts), ...(event.task.status.message?.parts ?? [])]
  }
}

function reportState(task: Task, output: Context['output']): void {
  const { state } = task.status
  if (state === 'completed') output.detail(`Task ${task.id}: ${stateName(task)}`)
  else if (state === 'input-required') {
    if (!isInteractive()) output.note('The agent waits for your answer.')
  } else if (state === 'auth-required') output.note('The agent waits for authorization.')
  else output.note(`The task ${task.id} is ${stateName(task)}.`)
}

async function resume(
  taskId: string,
  conversation: Conversation,
  agent: AgentConnection,
  context: Context,
): Promise<void> {
  const task = await agent.client.task(taskId).get(agent.call)
  conversation.task = task
  conversation.contextId = task.contextId || undefined
  const events = (signal: AbortSignal) =>
    untilInterrupted(agent.client.task(taskId).subscribe({ ...agent.call, signal }))
  await follow(events, conversation, agent, context)
}

async function runChatCommand(
  line: string,
  conversation: Conversation,
  agent: AgentConnection,
  context: Context,
): Promise<void> {
  const { output } = context
  const [command = '', argument = ''] = line.split(/\s+(.*)/s)
  const { task } = conversation
  switch (command) {
    case '/help':
      for (const [name, text] of Object.entries(commandHelp)) {
        output.print(wrapLine(`${name.padEnd(18)} ${text}`, process.stdout, 19))
      }
      return
    case '/file':
      conversation.attached.push(await readFilePart(argument.trim()))
      return output.note(`Attached ${argument.trim()}. It goes with the next message.`)
    case '/task':
      return output.note(
        task ? `Task: ${task.id}\nContext: ${task.contextId}\nState: ${stateName(task)}` : 'There is no task.',
      )
    case '/tasks':
      if (!conversation.contextId) return output.note('There is no context yet.')
      for await (const each of agent.client.listTasks({ contextId: conversation.contextId }, agent.call)) {
        output.print(`${each.id}  ${stateName(each)}`)
      }
      return
    case '/new':
      Object.assign(conversation, { contextId: undefined, task: undefined })
      return output.note('A new context begins with the next message.')
    case '/resume':
      if (argument === '') throw new A2AError('invalid-params', 'Which task? Write /resume <task-id>.')
      return await resume(await resolveTaskId(argument.trim(), agent), conversation, agent, context)
    case '/cancel':
      if (!task) return output.note('There is no task.')
      conversation.task = await agent.client.task(task.id).cancel(agent.call)
      return output.note(`The task is ${stateName(conversation.task)}.`)
    case '/card': {
      const { printCard } = await import('../cards/render-card.ts')
      return printCard(agent.client.card, { output, signature: 'not checked', isValid: undefined })
    }
    default:
      return output.note(`${command} is not a command. /help lists them.`)
  }
}
