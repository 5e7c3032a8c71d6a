import { expect, it } from 'vitest'
import { codeOfMessage } from './failures.ts'

it('the code of an error is found in the messages of SDKs that report every error alike', () => {
  const messages = {
    'TaskNotCancelableError: Task cannot be canceled - current state: TaskState.completed': 'task-not-cancelable',
    'TaskNotFoundError: Task not found': 'task-not-found',
    'UnsupportedOperationError: This operation is not supported': 'unsupported-operation',
    'Task nope was specified but does not exist': 'task-not-found',
    'Task cannot be canceled - current state: completed': 'task-not-cancelable',
    'RuntimeError: boom': undefined,
    'The weather is not found': undefined,
  }
  for (const [message, code] of Object.entries(messages))
    expect([message, codeOfMessage(message)]).toEqual([message, code])
})
