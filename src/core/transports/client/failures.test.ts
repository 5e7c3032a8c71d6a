import { expect, it } from 'vitest'
import { A2AError } from '../../protocol/errors.ts'
import { codeOfMessage, withSoftware } from './failures.ts'

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

it('an error about an answer that breaks the rules names the software of the agent, if the answer does', () => {
  const error = new A2AError('invalid-agent-response', 'task.id: expected a string, got 1', { url: 'http://a.test' })
  const headers = new Headers({ server: 'uvicorn', 'x-powered-by': 'Flask' })
  expect(withSoftware(error, headers)).toMatchObject({
    message: 'task.id: expected a string, got 1. The agent names its software as "uvicorn, Flask".',
    url: 'http://a.test',
    metadata: { software: 'uvicorn, Flask' },
  })
  expect(withSoftware(error, new Headers())).toBe(error)
  const other = new A2AError('internal', 'No.')
  expect(withSoftware(other, headers)).toBe(other)
})
