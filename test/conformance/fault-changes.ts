import type { Operation } from '../../src/conformance/requests.ts'
import type { Answer, Call, Fault, Json } from './faulty-agent.ts'

export function onAnswer(operation: Operation, change: (answer: Answer, call: Call) => void): Fault {
  return { answer: (answer, call) => void (call.operation === operation && change(answer, call)) }
}

/** Changes the task of a successful answer. */
export function onTask(operation: Operation, change: (task: Json, call: Call) => void): Fault {
  return onAnswer(operation, (answer, call) => {
    const task = taskIn(resultOf(answer, call))
    if (task) change(task, call)
  })
}

export function onTasks(change: (tasks: Json[], call: Call) => void): Fault {
  return onAnswer('list', (answer, call) => {
    const tasks = resultOf(answer, call)?.tasks
    if (tasks) change(tasks, call)
  })
}

/** Answers errors as if the call had succeeded. Streams of 0.3 report them as an event. */
export function succeed(operation: Operation, isMeant: (call: Call) => unknown = () => true): Fault {
  const success = (json: Json, { isRpc }: Call) => (isRpc ? { jsonrpc: '2.0', id: json.id, result: {} } : {})
  return {
    ...onAnswer(operation, (answer, call) => {
      const isError = call.isRpc ? answer.json?.error : answer.status >= 400
      if (!isError || !isMeant(call)) return
      answer.status = 200
      answer.json = success(answer.json, call)
    }),
    event: (event, _, call) =>
      call.operation === operation && event.error && isMeant(call) ? [success(event, call)] : [event],
  }
}

/** Hides a param from the agent. */
export function without(operation: Operation, name: string, isMeant: (value: unknown) => boolean = () => true): Fault {
  return {
    request: (call) => {
      if (call.operation === operation && name in call.params && isMeant(call.params[name])) delete call.params[name]
    },
  }
}

export function resultOf({ json, status }: Answer, { isRpc }: Call): Json {
  return isRpc ? json?.result : status < 300 ? json : undefined
}

export function taskIn(result: Json): Json {
  const task = result?.task ?? result
  return task?.status ? task : undefined
}

export function workingLike(state: string): string {
  return /^TASK/.test(state) ? 'TASK_STATE_WORKING' : 'working'
}

export function completedLike(state: string): string {
  return /^TASK/.test(state) ? 'TASK_STATE_COMPLETED' : 'completed'
}

/** Whether the call names a task that does not exist. */
export function isUnknownTask({ pathId, params }: Call): boolean {
  return isInvented(pathId ?? params.id)
}

/** Ids that the suite invents. */
export function isInvented(id: unknown): boolean {
  return /^conformance-/.test(`${id}`)
}
