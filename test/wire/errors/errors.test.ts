import { describe, expect, it } from 'vitest'
import { startTestServer } from '../../support/servers/test-server.ts'
import { sendParams, type WireOutcome, type WireResponse } from '../../support/wire/wire-client.ts'

const hello = async () => 'hello'

const info = (reason: string, more = {}) => ({
  '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
  reason,
  domain: 'a2a-protocol.org',
  ...more,
})

describe('an error', () => {
  it('an A2A error carries its reason', async () => {
    const { wire } = await startTestServer(hello)
    for (const method of ['GetTask', 'CancelTask', 'SubscribeToTask']) {
      expect(await wire.call(method, { id: 'unknown' })).toEqual({
        status: 200,
        jsonrpc: '2.0',
        id: expect.any(Number),
        error: {
          code: -32001,
          message: 'Task not found: There is no task unknown, or it is not yours.',
          data: [info('TASK_NOT_FOUND')],
        },
      })
    }
  })

  it('a validation error names the field, the expected type and the actual one', async () => {
    const { wire } = await startTestServer(hello)
    const { message } = sendParams('hi')
    const { error } = await wire.call('SendMessage', { message: { ...message, parts: [{ text: 'a' }, { text: 7 }] } })
    expect(error).toEqual({
      code: -32602,
      message: 'Invalid parameters: message.parts[1].text: expected a string, got a number',
      data: [
        {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: [{ field: 'message.parts[1].text', description: 'expected a string, got a number' }],
        },
      ],
    })
  })

  it('an error thrown by the agent reveals no internals to the caller', async () => {
    const { wire } = await startTestServer(async (turn) => {
      await turn.status('working')
      throw new Error(`cannot open /etc/secret with the key s3cret`)
    })
    const { status } = await wire.sendTask('go')
    expect(status.state).toBe('TASK_STATE_FAILED')
    expect(status.message?.parts).toEqual([
      { text: expect.stringMatching(/^The agent failed unexpectedly \(reference \w+\)\.$/) },
    ])
  })

  it('an error repeats the request id of any type', async () => {
    const { wire } = await startTestServer(hello)
    for (const id of [7, 0, -1, 'seven', '', null]) {
      const response = await wire.post({ jsonrpc: '2.0', id, method: 'GetTask', params: { id: 'unknown' } })
      expect(await response.json()).toMatchObject({ id, error: { code: -32001 } })
    }
  })
})

describe('an unsupported operation', () => {
  it('push config methods fail with PUSH_NOTIFICATION_NOT_SUPPORTED', async () => {
    const { wire } = await startTestServer(hello)
    const config = { taskId: 't', id: 'p', url: 'https://example.com/hook' }
    const methods = [
      'CreateTaskPushNotificationConfig',
      'GetTaskPushNotificationConfig',
      'ListTaskPushNotificationConfigs',
      'DeleteTaskPushNotificationConfig',
    ]
    for (const method of methods) {
      const { error } = await wire.call(method, config)
      expect(error).toMatchObject({ code: -32003, data: [info('PUSH_NOTIFICATION_NOT_SUPPORTED')] })
    }
    const configuration = { taskPushNotificationConfig: { url: config.url } }
    expect((await wire.call('SendMessage', sendParams('hi', { configuration }))).error?.code).toBe(-32003)
  })

  it('GetExtendedAgentCard fails with UNSUPPORTED_OPERATION', async () => {
    const { wire } = await startTestServer(hello)
    const { error } = await wire.call('GetExtendedAgentCard')
    expect(error).toMatchObject({ code: -32004, data: [info('UNSUPPORTED_OPERATION')] })
  })

  it('a misspelled method fails with a suggestion', async () => {
    const { wire } = await startTestServer(hello)
    const { status, error } = await wire.call('SendMesage', sendParams('hi'))
    expect(status).toBe(200)
    expect(error).toEqual({
      code: -32601,
      message: expect.stringContaining(
        'There is no method "SendMesage" in A2A 1.0; did you mean SendMessage? There are',
      ),
    })
  })
})

describe('A2A-Version', () => {
  const request = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: sendParams('hi') }
  const plain = { 'content-type': 'application/json' }

  it.each(['1.0', '1', '1.0.1', ' 1.0 '])('the version %s is accepted', async (version) => {
    const { server, wire } = await startTestServer(hello)
    expect((await wire.send('hi', {}, { 'a2a-version': version })).message).toBeDefined()
    const url = `${server.url}/?A2A-Version=${encodeURIComponent(version)}`
    const response = await fetch(url, { method: 'POST', headers: plain, body: JSON.stringify(request) })
    expect(((await response.json()) as { result: WireOutcome }).result.message).toBeDefined()
  })

  it.each(['9.9', '1.1', 'one', '1.0, 0.3'])('the version %s is rejected with the supported ones', async (version) => {
    const { server, wire } = await startTestServer(hello)
    const rejection = {
      code: -32009,
      message: expect.stringMatching(/ Supported: .*\b1\.0\b.*, named in the header A2A-Version\.$/),
      data: [info('VERSION_NOT_SUPPORTED', { metadata: { supportedVersions: expect.stringMatching(/\b1\.0\b/) } })],
    }
    expect((await wire.call('SendMessage', sendParams('hi'), { 'a2a-version': version })).error).toEqual(rejection)
    const url = `${server.url}/?A2A-Version=${encodeURIComponent(version)}`
    const response = await fetch(url, { method: 'POST', headers: plain, body: JSON.stringify(request) })
    expect(((await response.json()) as { error: unknown }).error).toEqual(rejection)
  })

  it('a 1.0 method with version 0.3 is rejected', async () => {
    const { wire } = await startTestServer(hello)
    const { error } = await wire.call('SendMessage', sendParams('hi'), { 'a2a-version': '0.3' })
    expect([-32009, -32601]).toContain(error?.code)
  })

  it('the version may be omitted if the method implies it, except in strict mode', async () => {
    const respond = async (missingVersion: 'infer' | 'strict') => {
      const { server } = await startTestServer(hello, { dialects: { missingVersion } })
      const response = await fetch(server.url, { method: 'POST', headers: plain, body: JSON.stringify(request) })
      return (await response.json()) as WireResponse<WireOutcome>
    }
    expect((await respond('infer')).result?.message).toBeDefined()
    // A request without a version is a 0.3 request (A2A 1.0 §3.6.2), and 0.3 has no SendMessage.
    expect([-32009, -32601]).toContain((await respond('strict')).error?.code)
  })
})
