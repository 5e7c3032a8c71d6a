import { describe, expect, it } from 'vitest'
import { A2AError } from './errors.ts'
import type { StreamEvent } from './events.ts'
import { callStream, callUnary, createService, type Interceptor, intercept } from './intercept.ts'
import { anonymous } from './model.ts'
import type { Call, Operation, ResultOf, Service } from './service.ts'

const call: Call = { principal: anonymous, signal: new AbortController().signal }

describe('intercept', () => {
  it('the first interceptor is the outermost', async () => {
    const { service, calls } = recordingService()
    const named = (name: string): Interceptor => ({
      async unary(operation, request, call, next) {
        calls.push(`${name} before`)
        const result: ResultOf<typeof operation> = await next(request, call)
        calls.push(`${name} after`)
        return result
      },
    })
    await intercept(service, [named('outer'), named('inner')]).getTask({ taskId: 't' }, call)
    expect(calls).toEqual(['outer before', 'inner before', 'getTask', 'inner after', 'outer after'])
  })

  it('an operation that no interceptor touches stays the original function', () => {
    const { service } = recordingService()
    const intercepted = intercept(service, [{ sendMessage: (request, call, next) => next(request, call) }])
    expect(intercepted.getTask).toBe(service.getTask)
    expect(intercepted.streamMessage).toBe(service.streamMessage)
    expect(intercepted.sendMessage).not.toBe(service.sendMessage)
  })

  it('a service without interceptors has the original functions', () => {
    const { service } = recordingService()
    expect(intercept(service, [])).toEqual(service)
  })

  it('a member named after an operation replaces the one for all operations', async () => {
    const { service, calls } = recordingService()
    const intercepted = intercept(service, [
      {
        unary(operation, request, call, next) {
          calls.push(`unary ${operation}`)
          return next(request, call)
        },
        stream(operation, request, call, next) {
          calls.push(`stream ${operation}`)
          return next(request, call)
        },
        cancelTask(request, call, next) {
          calls.push('named cancelTask')
          return next(request, call)
        },
        subscribeToTask(request, call, next) {
          calls.push('named subscribeToTask')
          return next(request, call)
        },
      },
    ])
    await intercepted.getTask({ taskId: 't' }, call)
    await intercepted.cancelTask({ taskId: 't' }, call)
    await Array.fromAsync(intercepted.streamMessage({ message: { messageId: 'm', role: 'user', parts: [] } }, call))
    await Array.fromAsync(intercepted.subscribeToTask({ taskId: 't' }, call))
    expect(calls).toEqual([
      'unary getTask',
      'getTask',
      'named cancelTask',
      'cancelTask',
      'stream streamMessage',
      'streamMessage',
      'named subscribeToTask',
      'subscribeToTask',
    ])
  })

  it('the promise of the service is handed on as it is', () => {
    const answer = Promise.resolve({} as never)
    const service = createService({ unary: () => answer, stream: noEvents })
    const pass: Interceptor = { unary: (_operation, request, call, next) => next(request, call) }
    expect(intercept(service, [pass, pass]).getTask({ taskId: 't' }, call)).toBe(answer)
  })

  it('an error that a unary interceptor throws is a rejected promise', async () => {
    const { service, calls } = recordingService()
    const refuse: Interceptor = {
      unary() {
        throw new A2AError('forbidden', 'no')
      },
    }
    const seen: unknown[] = []
    const observe: Interceptor = {
      unary: (_operation, request, call, next) =>
        next(request, call).catch((error) => {
          seen.push(error)
          throw error
        }),
    }
    const promise = intercept(service, [observe, refuse]).getTask({ taskId: 't' }, call)
    await expect(promise).rejects.toMatchObject({ code: 'forbidden' })
    expect(seen).toHaveLength(1)
    expect(calls).toEqual([])
  })

  it('an interceptor can change the request and the result', async () => {
    const { service, calls } = recordingService()
    const intercepted = intercept(service, [
      {
        async getTask(request, call, next) {
          const task = await next({ ...request, taskId: 'other' }, call)
          return { ...task, contextId: 'changed' }
        },
        async *streamMessage(request, call, next) {
          for await (const event of next(request, call)) {
            if (event.type === 'message') yield { ...event, message: { ...event.message, messageId: 'changed' } }
          }
        },
      },
    ])
    expect(await intercepted.getTask({ taskId: 't' }, call)).toMatchObject({ id: 'other', contextId: 'changed' })
    const events = await Array.fromAsync(
      intercepted.streamMessage({ message: { messageId: 'm', role: 'user', parts: [] } }, call),
    )
    expect(events).toMatchObject([{ type: 'message', message: { messageId: 'changed' } }])
    expect(calls).toEqual(['getTask', 'streamMessage'])
  })
})

describe('createService', () => {
  it('every operation is answered by one of the two functions', async () => {
    const { service, calls } = recordingService()
    const operations = Object.keys(service) as Operation[]
    expect(operations).toHaveLength(11)
    for (const operation of operations) {
      const answer = (service[operation] as (request: object, call: Call) => unknown)({}, call)
      await (Symbol.asyncIterator in Object(answer)
        ? Array.fromAsync(answer as AsyncIterable<StreamEvent>)
        : (answer as Promise<unknown>))
    }
    expect(calls).toEqual(operations)
  })
})

describe('callUnary and callStream', () => {
  it('an operation is called by its name', async () => {
    const { service, calls } = recordingService()
    expect(await callUnary(service, 'getTask', { taskId: 't' }, call)).toMatchObject({ id: 't' })
    expect(await Array.fromAsync(callStream(service, 'subscribeToTask', { taskId: 't' }, call))).toHaveLength(1)
    expect(calls).toEqual(['getTask', 'subscribeToTask'])
  })
})

function recordingService(): { readonly service: Service; readonly calls: string[] } {
  const calls: string[] = []
  const service = createService({
    async unary(operation, request) {
      calls.push(operation)
      return { id: 'taskId' in request ? request.taskId : undefined } as never
    },
    async *stream(operation) {
      calls.push(operation)
      yield { type: 'message', message: { messageId: 'm', role: 'agent', parts: [] } }
    },
  })
  return { service, calls }
}

async function* noEvents(): AsyncGenerator<StreamEvent> {}
