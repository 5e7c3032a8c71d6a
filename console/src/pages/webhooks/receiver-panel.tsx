import type { ReceivedDelivery, WebhookReceiver } from 'parley-a2a/operator'
import { useState } from 'preact/hooks'
import { operator } from '../../api/operator.ts'
import { useStream } from '../../api/use-resource.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { messageOf, Notice } from '../../components/states.tsx'
import { Countdown, formatTime } from '../../components/time.tsx'

/** Deliveries that the page keeps. */
const maxShown = 100

/** A webhook address of this server, to try deliveries without a program. */
export function ReceiverPanel() {
  const [receiver, setReceiver] = useState<WebhookReceiver>()
  const [problem, setProblem] = useState<string>()
  async function create() {
    setProblem(undefined)
    try {
      setReceiver(await operator.createReceiver())
    } catch (error) {
      setProblem(messageOf(error))
    }
  }
  return (
    <section class="card receiver" aria-label="Receiver">
      <h2>Try it with a receiver on this server</h2>
      {problem && <Notice kind="error">{problem}</Notice>}
      {receiver ? (
        <OpenReceiver receiver={receiver} />
      ) : (
        <>
          <p class="muted">Creates an address that shows what is delivered to it, for an hour.</p>
          <ActionButton onClick={create}>Create a receiver</ActionButton>
        </>
      )}
    </section>
  )
}

function OpenReceiver({ receiver: { id, url, token, expires } }: { readonly receiver: WebhookReceiver }) {
  const [deliveries, setDeliveries] = useState<readonly ReceivedDelivery[]>([])
  useStream(
    (signal) => operator.receivedDeliveries(id, signal),
    (delivery) =>
      setDeliveries((old) => [delivery, ...old.filter(({ number }) => number !== delivery.number)].slice(0, maxShown)),
    [id],
  )
  return (
    <>
      <p>
        Register <code class="breakable">{url}</code> <CopyButton text={url} label="Copy address" /> with the token{' '}
        <code class="breakable">{token}</code> <CopyButton text={token} label="Copy token" />
      </p>
      <p class="muted small">
        <Countdown until={expires} />
      </p>
      <ol class="plain stack" aria-live="polite" aria-label="Received deliveries">
        {deliveries.length === 0 && <li class="muted">Waiting for the first delivery…</li>}
        {deliveries.map(({ number, at, headers, body, verdict }) => (
          <li key={number} class="received">
            <p class="small">
              {formatTime(at)}: <bdi>{verdict}</bdi>
            </p>
            <details>
              <summary class="small">Headers</summary>
              <CodeBlock
                label="Headers"
                maxHeight="small"
                text={Object.entries(headers)
                  .map(([name, value]) => `${name}: ${value}`)
                  .join('\n')}
              />
            </details>
            <CodeBlock text={indented(body)} label="Body" isJson maxHeight="small" />
          </li>
        ))}
      </ol>
    </>
  )
}

function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
