import { Page } from '../../components/page.tsx'

export function ChatPage() {
  return <Page title="Chat">Hello</Page>
}
