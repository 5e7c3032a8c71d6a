import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { inbox } from '../api/inbox.ts'

interface PageProps {
  readonly title: string
  /** The title in full, if it is shortened. */
  readonly fullTitle?: string
  /** Buttons beside the title. */
  readonly actions?: ComponentChildren
  /** A line below the title. */
  readonly lead?: ComponentChildren
  readonly children: ComponentChildren
  /** Whether the page fills the window and scrolls inside. */
  readonly isFixed?: boolean
}

let isFirstPage = true

/** The frame of every page: its heading gets the focus when a person navigates to it, so that screen readers read it. */
export function Page({ title, fullTitle, actions, lead, children, isFixed }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  const { path } = useLocation()
  const waiting = inbox.value.count
  // Shows in the tab of the browser that an agent needs a person.
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${title} · Parley console`
  }, [title, waiting])
  // A page can show several addresses
  useEffect(() => {
    if (!isFirstPage && document.activeElement?.closest('main') === null) heading.current?.focus()
    isFirstPage = false
  }, [path])
  return (
    <div class={`page ${isFixed ? 'page-fixed' : ''}`}>
      <header class="page-header">
        <div>
          <h1 ref={heading} tabIndex={-1} title={fullTitle}>
            {title}
          </h1>
          {lead && <p class="page-lead">{lead}</p>}
        </div>
        {actions && <div class="page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}
