import { describe, expect, it } from 'vitest'
import { type MissingVersion, negotiate, operationOf, parseVersion } from './negotiate.ts'
import { serverDialects } from './server-dialects.ts'
import { v1_0 } from './v1.0/server.ts'

const only1_0 = { dialects: [v1_0] } as const

async function nameFor(
  version: string | undefined,
  method: string,
  missingVersion?: MissingVersion,
  params: unknown = {},
) {
  const proposal = { version: parseVersion(version), method, params, acceptsStream: false }
  const { name } = await negotiate(proposal, { dialects: serverDialects({}), missingVersion }, async () => undefined)
  return name
}

function operationFor(method: string) {
  return operationOf(
    v1_0,
    { version: '1.0', method, params: {}, acceptsStream: false },
    { dialects: serverDialects({}) },
  )
}

describe('the version of a request', () => {
  it('is its major and minor number', () => {
    const versions = { '1.0': '1.0', ' 1.0 ': '1.0', '1.0.1': '1.0', '1': '1.0', '0.3.0': '0.3', '99.7': '99.7' }
    for (const [text, version] of Object.entries(versions)) expect(parseVersion(text)).toBe(version)
  })

  it('is unknown when it is absent or empty', () => {
    for (const text of [undefined, '', '  ']) expect(parseVersion(text)).toBeUndefined()
  })

  it('is not supported when it cannot be read', async () => {
    for (const text of ['v1.0', '1.x', '1.0, 1.0', '1.0-rc', '-1', '.', '1.', 'x'.repeat(9000)]) {
      const error = await nameFor(text, 'SendMessage').catch((thrown) => thrown)
      expect(error.code).toBe('version-not-supported')
      expect(error.message.length).toBeLessThan(250)
    }
  })
})

describe('a server that speaks only 1.0', () => {
  const speak = async (version: string | undefined, method: string) =>
    await negotiate({ version, method, params: {}, acceptsStream: false }, only1_0, async () => undefined)

  it('takes every request without a version for 1.0', async () => {
    expect(await speak(undefined, 'message/send')).toBe(v1_0)
  })

  it('refuses other versions with those that it speaks', async () => {
    const error = await speak('0.3', 'SendMessage').catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'version-not-supported', metadata: { supportedVersions: '1.0' } })
  })
})

describe('the operation of a method', () => {
  it('is found for every method of the dialect', () => {
    for (const [operation, method] of Object.entries(v1_0.methods)) expect(operationFor(method)).toBe(operation)
    expect(operationFor('ListTaskPushNotificationConfig')).toBe('listPushConfigs')
  })

  it('is guessed for the caller when a method is misspelled', () => {
    const misspelled = { SendMesage: 'SendMessage', get_task: 'GetTask', ListTask: 'ListTasks' }
    for (const [method, meant] of Object.entries(misspelled)) {
      expect(() => operationFor(method)).toThrow(`There is no method "${method}" in A2A 1.0; did you mean ${meant}?`)
    }
  })

  it('is not guessed when nothing is near: all methods are listed', () => {
    for (const method of ['', 'foo', 'toString', '__proto__', 'x'.repeat(100_000)]) {
      expect(() => operationFor(method)).toThrow('There are SendMessage, SendStreamingMessage, GetTask')
    }
  })
})
