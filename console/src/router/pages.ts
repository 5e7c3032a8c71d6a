import type { Feature } from 'parley-a2a/operator'
import type { FunctionComponent } from 'preact'
import type { IconName } from '../components/icon.tsx'
import { lazyPage } from './lazy-page.tsx'

/** A page with its entry in the navigation. Its code is loaded when the page is opened for the first time. */
export interface PageEntry {
  /** The first segment of its addresses. */
  readonly id: string
  /** Its addresses, relative to the console, as patterns of `preact-iso`. */
  readonly paths: readonly string[]
  readonly title: string
  readonly icon: IconName
  /** The page is shown only if the server has this feature. */
  readonly feature?: Feature
  /** Whether it shows one agent: the agent is then the second segment of its addresses. */
  readonly isOfAgent?: true
  /** A count beside its title. */
  readonly badge?: FunctionComponent
  readonly component: FunctionComponent
}

export const startPage = 'chat'

/** All pages, in the order of the navigation. */
export const pages: readonly PageEntry[] = [
  {
    id: 'chat',
    paths: ['chat', 'chat/:agent', 'chat/:agent/:conversation'],
    title: 'Chat',
    icon: 'chat',
    isOfAgent: true,
    component: lazyPage(async () => (await import('../pages/chat/chat-page.tsx')).ChatPage),
  },
]
