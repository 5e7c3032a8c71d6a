import { afterAll, expect, it } from 'vitest'
import { openWebhookReceiver } from '../../src/cli/webhook-receiver.ts'
import { conformance } from '../../src/conformance/conformance.ts'
import { diagnose } from '../../src/conformance/doctor/diagnose.ts'
import { count, profile } from '../support/agents/interop-agent.ts'
import { shareTestServer } from '../support/servers/test-server.ts'
import type { Fault } from './faulty-agent.ts'
import { startSpoilingProxy } from './spoiling-proxy.ts'
import type { Spoiling } from './spoilings.ts'

const texts = { task: 'count', message: 'hello', inputRequired: 'ask', longRunning: 'wait' }

/**
 * Declares a test for each spoiling, and one for the agent as it is. Must be called at the top of a test file. A quick
 * check judges only the rule that a spoiling breaks.
 */
export async function checkSpoilings(spoilings: readonly Spoiling[], { isQuick = false } = {}): Promise<void> {
  const shared = shareTestServer(count, {
    profile,
    push: { loopback: 'allow' },
    dialects: { speak: ['v1.0'] },
    turns: { cancelGrace: 50 },
  })
  const receiver = await openWebhookReceiver()
  afterAll(() => receiver.close())

  /** The rules that the agent behind the proxy breaks. */
  async function brokenRules(
    fault: Fault,
    binding: NonNullable<Spoiling['binding']>,
    rule?: string,
  ): Promise<readonly string[]> {
    const report = await conformance(await startSpoilingProxy(shared().server.url, fault), {
      texts,
      versions: ['1.0'],
      bindings: [binding],
      ...(isQuick && rule !== undefined && { rules: [rule] }),
      webhooks: {
        url: receiver.url,
        async receive(path, timeout) {
          const delivery = await receiver.receive(path, timeout)
          return delivery && fault.webhook ? fault.webhook(delivery) : delivery
        },
      },
    })
    return report.failed().map(({ rule }) => rule)
  }

  async function findings(fault: Fault): Promise<readonly string[]> {
    const { signal } = new AbortController()
    const url = await startSpoilingProxy(shared().server.url, fault)
    const { report } = await diagnose({ url, fetch, signal })
    return report.findings.flatMap(({ severity, id }) => (severity === 'info' ? [] : [id]))
  }

  it('nothing is found on a correct agent behind the proxy', async () => {
    for (const binding of isQuick ? (['JSONRPC'] as const) : (['JSONRPC', 'HTTP+JSON'] as const)) {
      expect(await brokenRules({}, binding)).toEqual([])
    }
    expect(await findings({})).toEqual([])
  })

  it.each(spoilings)('is found: $name', async ({ spoil, rule, finding, binding = 'JSONRPC' }) => {
    if (rule !== undefined) expect(await brokenRules(spoil, binding, rule)).toContain(rule)
    if (finding !== undefined) expect(await findings(spoil)).toContain(finding)
  })
}
