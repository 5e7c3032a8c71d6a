import { describe, expect, it } from 'vitest'
import { A2AError } from '../protocol/errors.ts'
import { type MissingVersion, negotiate, newest, operationOf, parseVersion } from './negotiate.ts'
import { olderMethods } from './older-methods.ts'

function failureOf(run: () => unknown): A2AError {
  try {
    run()
  } catch (error) {
    if (error instanceof A2AError) return error
    throw error
  }
  throw new Error('expected an error')
}

function versionFor(version: string | undefined, method: string, missingVersion: MissingVersion = 'infer'): string {
  return negotiate({ version: parseVersion(version), method, missingVersion }).version
}

describe('the version of a request', () => {
  it('is its major and minor number', () => {
    const versions = { '1.0': '1.0', ' 1.0 ': '1.0', '1.0.1': '1.0', '1': '1.0', '0.3.0': '0.3', '99.7': '99.7' }
    for (const [text, version] of Object.entries(versions)) expect(parseVersion(text)).toBe(version)
  })

  it('is unknown when it is absent or empty', () => {
    for (const text of [undefined, '', '  ']) expect(parseVersion(text)).toBeUndefined()
  })

  it('is not supported when it cannot be read', () => {
    for (const text of ['v1.0', '1.x', '1.0, 1.0', '1.0-rc', '-1', '.', '1.', 'x'.repeat(9000)]) {
      const { code, message } = failureOf(() => parseVersion(text))
      expect(code).toBe('version-not-supported')
      expect(message.length).toBeLessThan(200)
    }
  })
})

describe('the dialect of a request', () => {
  it('is the one of its version', () => {
    expect(versionFor('1.0', 'SendMessage')).toBe('1.0')
    expect(versionFor('1.0.1', 'SendMessage')).toBe('1.0')
    expect(versionFor('1.0', 'message/send')).toBe('1.0')
  })

  it('is refused with the versions that are supported', () => {
    for (const version of ['99.0', '0.3']) {
      const { code, message, metadata } = failureOf(() => versionFor(version, 'SendMessage'))
      expect(code).toBe('version-not-supported')
      expect(message).toContain(`A2A ${version} is not spoken here. Supported: 1.0`)
      expect(metadata).toEqual({ supportedVersions: '1.0' })
    }
  })

  it('is inferred from the method when no version is named', () => {
    expect(versionFor(undefined, 'SendMessage')).toBe('1.0')
    expect(versionFor('', 'ListTasks')).toBe('1.0')
    expect(versionFor(undefined, 'whatever')).toBe('1.0')
  })

  it('is an older one, and said so, when the method is older', () => {
    const { code, message } = failureOf(() => versionFor(undefined, 'message/send'))
    expect(code).toBe('version-not-supported')
    expect(message).toContain('message/send is a method of A2A 0.2 and 0.3')
  })

  it('is 0.3 when no version is named and the reading is strict', () => {
    expect(versionFor('1.0', 'SendMessage', 'strict')).toBe('1.0')
    const { code, message } = failureOf(() => versionFor(undefined, 'SendMessage', 'strict'))
    expect(code).toBe('version-not-supported')
    expect(message).toContain('without A2A-Version')
  })
})

describe('the operation of a method', () => {
  it('is found for every method of the dialect', () => {
    for (const [operation, method] of Object.entries(newest.methods)) {
      expect(operationOf(newest, method)).toBe(operation)
    }
    expect(operationOf(newest, 'ListTaskPushNotificationConfig')).toBe('listPushConfigs')
  })

  it('is guessed for the caller when a method is misspelled', () => {
    const misspelled = {
      SendMesage: 'SendMessage',
      sendmessage: 'SendMessage',
      get_task: 'GetTask',
      ListTask: 'ListTasks',
    }
    for (const [method, meant] of Object.entries(misspelled)) {
      const { code, message } = failureOf(() => operationOf(newest, method))
      expect(code).toBe('method-not-found')
      expect(message).toBe(`There is no method "${method}" in A2A 1.0; did you mean ${meant}?`)
    }
  })

  it('is not guessed when nothing is near: all methods are listed', () => {
    for (const method of ['', 'foo', 'toString', '__proto__', 'x'.repeat(100_000)]) {
      const { message } = failureOf(() => operationOf(newest, method))
      expect(message).toContain('There are SendMessage, SendStreamingMessage, GetTask')
      expect(message.length).toBeLessThan(450)
    }
  })

  it('is told for a method of an older dialect', () => {
    expect(failureOf(() => operationOf(newest, 'tasks/sendSubscribe')).message).toBe(
      'There is no method "tasks/sendSubscribe" in A2A 1.0; it is one of A2A 0.1. Here it is SendStreamingMessage.',
    )
    for (const method of olderMethods.keys()) {
      expect(failureOf(() => operationOf(newest, method)).message).toContain('Here it is ')
    }
  })
})
