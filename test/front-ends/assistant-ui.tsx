import { AssistantRuntimeProvider, ComposerPrimitive, MessagePrimitive, ThreadPrimitive } from '@assistant-ui/react'
import { useChatRuntime } from '@assistant-ui/react-ai-sdk'
import { A2AChatTransport } from 'parley-a2a/ai-sdk/chat'
import { createRoot } from 'react-dom/client'

/** A thread of assistant-ui on the transport for the AI SDK, as an application writes it. */

const agent = new URLSearchParams(location.search).get('agent') ?? ''
const transport = new A2AChatTransport({ agent })

function Message() {
  return (
    <MessagePrimitive.Root>
      <li>
        <MessagePrimitive.Parts />
      </li>
    </MessagePrimitive.Root>
  )
}

function Chat() {
  const runtime = useChatRuntime({ transport })
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ThreadPrimitive.Root>
        <ol>
          <ThreadPrimitive.Messages components={{ Message }} />
        </ol>
        <ThreadPrimitive.If running>
          <output>working</output>
        </ThreadPrimitive.If>
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
          <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  )
}

createRoot(document.body).render(<Chat />)
