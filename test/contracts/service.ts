import { describe } from 'vitest'
import type { ServiceContract } from './service/contract.ts'
import { errorContract } from './service/errors.ts'
import { sendMessageContract } from './service/sending.ts'
import { streamContract } from './service/streaming.ts'
import { taskContract } from './service/tasks.ts'

/** What holds for every `Service`, whatever makes it: a runtime, or a client over any dialect and binding. */
export function serviceContract(contract: ServiceContract): void {
  describe('sending', () => sendMessageContract(contract))
  describe('streaming', () => streamContract(contract))
  describe('tasks', () => taskContract(contract))
  describe('errors', () => errorContract(contract))
}
