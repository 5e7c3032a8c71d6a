import type { ClientEvent, Task } from '../entries/client.ts'
import type { Output } from './output.ts'
import { printArtifact, printMessage, printParts, printTaskHead, stateName } from './render.ts'

/** Prints the events of a stream as text: each state once, and the text of artifacts as it grows. */
export interface EventPrinter {
  print(event: ClientEvent): void
  /** The ids and the final state, which every mode ends with. */
  summary(task: Task): void
}

export function createEventPrinter(output: Output): EventPrinter {
  let lastState = ''
  let isHeadPrinted = false

  function printHead(taskId: string, contextId: string): void {
    if (isHeadPrinted) return
    isHeadPrinted = true
    output.field('Task', taskId)
    output.field('Context', contextId || '(none)')
  }
  function printState(name: string): void {
    if (name === lastState) return
    lastState = name
    output.field('State', name)
  }

  return {
    print(event) {
      switch (event.type) {
        case 'message':
          printMessage(event.message, output)
          break
        case 'task':
          printHead(event.task.id, event.task.contextId)
          printState(stateName(event.task))
          if (event.task.status.message) printParts('Message', event.task.status.message.parts, output)
          for (const artifact of event.task.artifacts) printArtifact(artifact, output)
          break
        case 'status':
          printHead(event.taskId, event.contextId)
          printState(stateName(event))
          if (event.status.message) printParts('Message', event.status.message.parts, output)
          break
        case 'artifact':
          printHead(event.taskId, event.contextId)
          if (event.append) printParts('Text', event.artifact.parts, output)
          else printArtifact(event.artifact, output)
          break
      }
    },
    summary(task) {
      output.print('')
      printTaskHead(task, output)
    },
  }
}
