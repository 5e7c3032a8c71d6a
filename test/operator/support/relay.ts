import { connect } from '../../../src/entries/client.node.ts'
import { createOperatorClient } from '../../../src/entries/operator.ts'
import type { shareCli } from '../../support/processes/cli.ts'

/** Starts `parley console` and opens its address, as a browser does. */
export async function openRelay(
  start: ReturnType<typeof shareCli>['start'],
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  const relay = start(['console', ...args, '-o', 'json'], { env })
  const [, address = ''] = await relay.until(/"url":"([^"]+)"/)
  const { origin } = new URL(address)
  const opened = await fetch(address, { redirect: 'manual' })
  const cookie = (opened.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  const withCookie = (input: string, init: RequestInit) =>
    fetch(input, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), cookie } })
  return {
    relay,
    address,
    origin,
    cookie,
    operator: createOperatorClient({ url: `${origin}/console`, headers: { cookie } }),
    /** The client of the chat. */
    chat: (agent: string) => connect(`${origin}/console/a2a/${agent}`, { fetch: withCookie }),
    async stop() {
      relay.child.kill('SIGTERM')
      await relay.result
    },
  }
}
