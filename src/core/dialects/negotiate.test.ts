import { describe, expect, it } from 'vitest'
import { createNegotiation, type MissingVersion, operationOf, parseVersion } from './negotiate.ts'
import { serverDialects } from './server-dialects.ts'
import { v1_0 } from './v1.0/server.ts'

const only1_0 = { dialects: [v1_0] } as const

async function nameFor(
  version: string | undefined,
  method: string,
  missingVersion?: MissingVersion,
  params: unknown = {},
) {
  const features = { version: parseVersion(version), method, params, acceptsStream: false }
  const { name } = await createNegotiation({ dialects: serverDialects({}), missingVersion })(
    features,
    async () => undefined,
  )
  return name
}

function operationFor(method: string) {
  return operationOf(
    v1_0,
    { version: '1.0', method, params: {}, acceptsStream: false },
    { dialects: serverDialects({}) },
  )
}

describe('parseVersion', () => {
  it('a version is reduced to its major and minor number', () => {
    const versions = { '1.0': '1.0', ' 1.0 ': '1.0', '1.0.1': '1.0', '1': '1.0', '0.3.0': '0.3', '99.7': '99.7' }
    for (const [text, version] of Object.entries(versions)) expect(parseVersion(text)).toBe(version)
  })

  it('an absent or empty version is undefined', () => {
    for (const text of [undefined, '', '  ']) expect(parseVersion(text)).toBeUndefined()
  })

  it('an unreadable version is not supported', async () => {
    for (const text of ['v1.0', '1.x', '1.0, 1.0', '1.0-rc', '-1', '.', '1.', 'x'.repeat(9000)]) {
      const error = await nameFor(text, 'SendMessage').catch((thrown) => thrown)
      expect(error.code).toBe('version-not-supported')
      expect(error.message.length).toBeLessThan(250)
    }
  })
})

describe('a server with 1.0 only', () => {
  const dialectFor = async (version: string | undefined, method: string) =>
    await createNegotiation(only1_0)({ version, method, params: {}, acceptsStream: false }, async () => undefined)

  it('a 1.0 server reads every request without a version as 1.0', async () => {
    expect(await dialectFor(undefined, 'message/send')).toBe(v1_0)
  })

  it('a 1.0 server rejects other versions and names the supported ones', async () => {
    const error = await dialectFor('0.3', 'SendMessage').catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'version-not-supported', metadata: { supportedVersions: '1.0' } })
  })
})

describe('operationOf', () => {
  it('every method of the dialect has its operation', () => {
    for (const [operation, method] of Object.entries(v1_0.methods)) expect(operationFor(method)).toBe(operation)
    expect(operationFor('ListTaskPushNotificationConfig')).toBe('listPushConfigs')
  })

  it('a misspelled method is rejected with a suggestion', () => {
    const misspelled = { SendMesage: 'SendMessage', get_task: 'GetTask', ListTask: 'ListTasks' }
    for (const [method, suggestion] of Object.entries(misspelled)) {
      expect(() => operationFor(method)).toThrow(
        `There is no method "${method}" in A2A 1.0; did you mean ${suggestion}?`,
      )
    }
  })

  it('an unknown method is rejected with a list of all methods', () => {
    for (const method of ['', 'foo', 'toString', '__proto__', 'x'.repeat(100_000)]) {
      expect(() => operationFor(method)).toThrow('There are SendMessage, SendStreamingMessage, GetTask')
    }
  })
})
