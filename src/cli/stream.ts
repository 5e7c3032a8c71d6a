import type { ClientEvent, Task } from '../entries/client.ts'
import { createMarkdownWriter } from './chat/markdown.ts'
import { createScreen } from './chat/screen.ts'
import type { Output } from './output.ts'
import { isSettled, printArtifact, printMessage, printParts, printTaskHead, stateName } from './render.ts'
import { stateFormat } from './table.ts'

/** Prints the events of a stream as text: each state once, and the text of an artifact as one block that grows. */
export interface EventPrinter {
  print(event: ClientEvent): void
  /** Ends a block that is still open. */
  end(): void
  /** The ids and the final state, which every mode ends with. */
  summary(task: Task): void
}

export function createEventPrinter(output: Output): EventPrinter {
  // A person sees Markdown while it arrives; other readers get the text as it is.
  const screen =
    output.isTerminal && output.mode === 'text' ? createScreen(output, 'Waiting for the agent…') : undefined
  const writer = screen && createMarkdownWriter(screen, output.style)
  let lastState = ''
  let isHeadPrinted = false
  /** The artifact whose text is being written, and the end of what was written. */
  let open: { readonly artifactId: string; tail: string } | undefined

  function end(): void {
    writer?.end()
    screen?.end()
    if (open && writer) output.print('')
    else if (open) output.write(open.tail.endsWith('\n') ? '\n' : '\n\n')
    open = undefined
  }
  function printText(artifactId: string, text: string): void {
    if (text === '') return
    if (open?.artifactId !== artifactId) {
      end()
      output.field('Text', '')
    }
    if (writer) writer.write(text)
    else output.write(text)
    open = { artifactId, tail: text.slice(-1) }
  }
  /** Pieces of text that follow each other belong together, whatever their sizes are. */
  function printPieces({ artifact, append, lastChunk }: Extract<ClientEvent, { type: 'artifact' }>): void {
    const { artifactId, parts } = artifact
    if (!append) {
      end()
      printArtifact({ ...artifact, parts: [] }, output)
    }
    for (const part of parts) {
      if ('text' in part) {
        printText(artifactId, part.text)
        continue
      }
      end()
      printParts('Text', [part], output)
    }
    if (lastChunk) end()
  }
  function printHead(taskId: string, contextId: string): void {
    if (isHeadPrinted) return
    isHeadPrinted = true
    output.field('Task', taskId)
    output.field('Context', contextId || '(none)')
  }
  function printStatus(event: Extract<ClientEvent, { type: 'status' }>): void {
    const { message } = event.status
    const isProgress = output.isTerminal && !isSettled(event)
    if (message && isProgress) for (const part of message.parts) if ('text' in part) output.aside(part.text)
    if (message && !isProgress) printParts('Message', message.parts, output)
  }
  function printState(name: string): void {
    if (name === lastState) return
    lastState = name
    output.field('State', name, stateFormat(name))
  }

  return {
    end,
    print(event) {
      if (event.type !== 'artifact') end()
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
          printStatus(event)
          break
        case 'artifact':
          printHead(event.taskId, event.contextId)
          printPieces(event)
          break
      }
    },
    summary(task) {
      end()
      output.print('')
      printTaskHead(task, output)
    },
  }
}
