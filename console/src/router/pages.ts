import type { Feature } from 'parley-a2a/operator'
import type { FunctionComponent } from 'preact'
import type { IconName } from '../components/icon.tsx'
import { InboxBadge } from '../components/shell/inbox-badge.tsx'
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
  /** Whether a server without agents, such as a registry, has the page. */
  readonly needsNoAgents?: true
  /** Whether it shows one agent: the agent is then the second segment of its addresses. */
  readonly isOfAgent?: true
  /** Whether it has no entry in the navigation, because another page leads to it. */
  readonly isHidden?: true
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
  {
    id: 'tasks',
    paths: ['tasks'],
    title: 'Tasks',
    icon: 'tasks',
    feature: 'history',
    component: lazyPage(async () => (await import('../pages/tasks/tasks-page.tsx')).TasksPage),
  },
  {
    id: 'tasks',
    // One pattern: a page of two patterns begins anew, without its focus, when the other one matches.
    paths: ['tasks/:agent/:taskId/:tab?'],
    title: 'Task',
    icon: 'tasks',
    feature: 'history',
    isHidden: true,
    component: lazyPage(async () => (await import('../pages/task/task-page.tsx')).TaskPage),
  },
  {
    id: 'contexts',
    paths: ['contexts/:agent/:contextId'],
    title: 'Conversation',
    icon: 'chat',
    feature: 'history',
    isHidden: true,
    component: lazyPage(async () => (await import('../pages/context/context-page.tsx')).ContextPage),
  },
  {
    id: 'inbox',
    paths: ['inbox/:agent?/:taskId?'],
    title: 'Inbox',
    icon: 'inbox',
    feature: 'history',
    badge: InboxBadge,
    component: lazyPage(async () => (await import('../pages/inbox/inbox-page.tsx')).InboxPage),
  },
  {
    id: 'overview',
    paths: ['overview'],
    title: 'Overview',
    icon: 'overview',
    feature: 'overview',
    component: lazyPage(async () => (await import('../pages/overview/overview-page.tsx')).OverviewPage),
  },
  {
    id: 'usage',
    paths: ['usage'],
    title: 'Usage',
    icon: 'usage',
    feature: 'overview',
    component: lazyPage(async () => (await import('../pages/usage/usage-page.tsx')).UsagePage),
  },
  {
    id: 'agents',
    paths: ['agents'],
    title: 'Agents',
    icon: 'agent',
    component: lazyPage(async () => (await import('../pages/agents/agents-page.tsx')).AgentsPage),
  },
  {
    id: 'agents',
    paths: ['agents/:agent/:tab?'],
    title: 'Agent',
    icon: 'agent',
    isOfAgent: true,
    isHidden: true,
    component: lazyPage(async () => (await import('../pages/agent/agent-page.tsx')).AgentPage),
  },
  {
    id: 'wire',
    paths: ['wire/:agent?/:view?/:exchange?'],
    title: 'Wire',
    icon: 'wire',
    isOfAgent: true,
    component: lazyPage(async () => (await import('../pages/wire/wire-page.tsx')).WirePage),
  },
  {
    id: 'connect',
    paths: ['connect'],
    title: 'Connect',
    icon: 'plus',
    feature: 'connect',
    needsNoAgents: true,
    component: lazyPage(async () => (await import('../pages/connect/connect-page.tsx')).ConnectPage),
  },
  {
    id: 'webhooks',
    paths: ['webhooks'],
    title: 'Webhooks',
    icon: 'webhook',
    feature: 'webhooks',
    component: lazyPage(async () => (await import('../pages/webhooks/webhooks-page.tsx')).WebhooksPage),
  },
  {
    id: 'gateway',
    paths: ['gateway'],
    title: 'Gateway',
    icon: 'gateway',
    feature: 'gateway',
    needsNoAgents: true,
    component: lazyPage(async () => (await import('../pages/gateway/gateway-page.tsx')).GatewayPage),
  },
  {
    id: 'registry',
    paths: ['registry'],
    title: 'Registry',
    icon: 'registry',
    feature: 'registry',
    needsNoAgents: true,
    component: lazyPage(async () => (await import('../pages/registry/registry-page.tsx')).RegistryPage),
  },
  {
    id: 'mesh',
    paths: ['mesh'],
    title: 'Mesh',
    icon: 'mesh',
    feature: 'mesh',
    component: lazyPage(async () => (await import('../pages/registry/mesh-page.tsx')).MeshPage),
  },
]
