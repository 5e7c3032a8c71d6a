import { type ComponentChildren, Fragment } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { agents, hasNoAgents, selectAgent, selectedAgent } from '../../api/agents.ts'
import { hasFeature, logOut, session } from '../../api/session.ts'
import { basePath, link } from '../../router/links.ts'
import { type PageEntry, pages } from '../../router/pages.ts'
import { setTheme, type Theme, theme, themes } from '../../theme/theme.ts'
import { Icon } from '../icon.tsx'
import { ConnectionStatus } from './connection-status.tsx'
import { handleKey, type Overlay } from './keyboard.ts'

/** What surrounds every page: navigation, agent switcher, theme and the state of the connection. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  const { url, path } = useLocation()
  const [isOpen, setOpen] = useState(false)
  // A navigation closes the menu
  useEffect(() => setOpen(false), [url])
  const current = path.slice(basePath.length).split('/')[0] || ''
  const shown = pages
    .filter(({ feature, isHidden }) => !isHidden && (feature === undefined || hasFeature(feature)))
    .filter(({ needsNoAgents }) => needsNoAgents || !hasNoAgents.value)
  const [overlay, setOverlay] = useState<Overlay>()
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => handleKey(event, setOverlay)
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  return (
    <Fragment>
      {overlay && <Overlays overlay={overlay} pages={shown} onClose={() => setOverlay(undefined)} />}
      <button type="button" class="button skip-link" onClick={() => document.getElementById('content')?.focus()}>
        Skip to content
      </button>
      <div class={`shell ${isOpen ? 'shell-open' : ''}`}>
        <header class="shell-bar">
          <button
            type="button"
            class="button button-plain button-icon shell-menu"
            aria-expanded={isOpen}
            aria-controls="navigation"
            aria-label="Menu"
            onClick={() => setOpen(!isOpen)}
          >
            <Icon name={isOpen ? 'close' : 'menu'} />
          </button>
          <a class="shell-brand" href={link()} aria-label="Parley, start page">
            <img src={`${basePath}icon.svg`} alt="" width="22" height="22" />
            <span>Parley</span>
          </a>
          <AgentSwitcher current={current} />
          <ConnectionStatus />
        </header>
        <nav
          id="navigation"
          class="shell-nav"
          aria-label="Pages"
          onKeyDown={(event) => event.key === 'Escape' && setOpen(false)}
        >
          <ul>
            {shown.map((page) => (
              <NavigationItem
                key={page.id}
                page={page}
                isCurrent={page.id === current}
                onClick={() => setOpen(false)}
              />
            ))}
          </ul>
          <ShellFooter onKeys={() => setOverlay('help')} />
        </nav>
        <main id="content" class="shell-content" tabIndex={-1}>
          {children}
        </main>
      </div>
    </Fragment>
  )
}

interface NavigationItemProps {
  readonly page: PageEntry
  readonly isCurrent: boolean
  readonly onClick: () => void
}

function NavigationItem({ page, isCurrent, onClick }: NavigationItemProps) {
  return (
    <li>
      <a href={hrefOf(page)} aria-current={isCurrent ? 'page' : undefined} onClick={onClick}>
        <Icon name={page.icon} />
        <span>{page.title}</span>
        {page.badge && <page.badge />}
      </a>
    </li>
  )
}

/** Pages of one agent have it in their address; the switcher replaces it there. */
function AgentSwitcher({ current }: { readonly current: string }) {
  const { route, path } = useLocation()
  const hasAgent = current !== 'agents' || path.slice(basePath.length).split('/').length > 1
  const page = pages.find(({ id, isOfAgent }) => id === current && isOfAgent && hasAgent)
  const selected = selectedAgent.value
  // Other pages show all agents, or have a filter of their own.
  if (!selected || (agents.value.length > 1 && !page?.isOfAgent)) return <span class="shell-agent" />
  if (agents.value.length === 1) {
    return (
      <span class="shell-agent shell-agent-only">
        <bdi>{selected.name}</bdi>
      </span>
    )
  }
  return (
    <label class="shell-agent">
      <span class="visually-hidden">Agent</span>
      <select
        class="input"
        value={selected.id}
        onChange={({ currentTarget: { value } }) => {
          selectAgent(value)
          if (page) route(link(page.id, value))
        }}
      >
        {agents.value.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

interface OverlaysProps {
  readonly overlay: Overlay
  readonly pages: readonly PageEntry[]
  readonly onClose: () => void
}

/** The palette and the help, whose code is loaded with the first of them. */
function Overlays({ overlay, pages, onClose }: OverlaysProps) {
  const [loaded, setLoaded] = useState<Awaited<ReturnType<typeof loadOverlays>>>()
  useEffect(() => {
    loadOverlays().then(setLoaded, onClose)
  }, [])
  if (!loaded) return null
  const { Palette, KeyHelp } = loaded
  if (overlay === 'help') return <KeyHelp onClose={onClose} />
  return <Palette pages={pages.map((page) => ({ title: page.title, href: hrefOf(page) }))} onClose={onClose} />
}

async function loadOverlays() {
  const [{ Palette }, { KeyHelp }] = await Promise.all([import('./palette.tsx'), import('./key-help.tsx')])
  return { Palette, KeyHelp }
}

function hrefOf(page: PageEntry): string {
  const agent = page.isOfAgent ? selectedAgent.value?.id : undefined
  return agent ? link(page.id, agent) : link(page.id)
}

function ShellFooter({ onKeys }: { readonly onKeys: () => void }) {
  const { principal, role, server } = session.value ?? {}
  return (
    <div class="shell-footer">
      {principal && (
        <div class="shell-user">
          <Icon name="user" />
          <bdi class="truncate" title={principal.id}>
            {principal.id}
          </bdi>
          <span class="muted">{role}</span>
          <button type="button" class="button button-plain button-small" onClick={logOut}>
            Log out
          </button>
        </div>
      )}
      <label class="shell-theme">
        <span>Theme</span>
        <select
          class="input input-small"
          value={theme.value}
          onChange={({ currentTarget: { value } }) => setTheme(value as Theme)}
        >
          {themes.map(({ id, label }) => (
            <option key={id} value={id}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <button type="button" class="button button-plain button-small shell-keys" onClick={onKeys}>
        Keyboard
      </button>
      <span class="muted">Parley {server?.version}</span>
    </div>
  )
}
