import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

interface Tab<Id extends string> {
  readonly id: Id
  readonly label: ComponentChildren
}

interface TabsProps<Id extends string> {
  readonly label: string
  readonly tabs: readonly Tab<Id>[]
  readonly selected: Id
  readonly onSelect: (id: Id) => void
  /** The content of the selected tab. */
  readonly children: ComponentChildren
}

/** Tabs as the ARIA practices describe them: arrow keys move between tabs, and Tab enters the content. */
export function Tabs<Id extends string>({ label, tabs, selected, onSelect, children }: TabsProps<Id>) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  // On a narrow screen the list scrolls. `scrollIntoView` would also move the point from which Tab continues.
  useEffect(() => {
    const element = list.current
    const tab = element?.querySelector<HTMLElement>('[aria-selected=true]')
    if (!element || !tab) return
    const start = tab.offsetLeft - element.offsetLeft
    const isHidden = start < element.scrollLeft || start + tab.offsetWidth > element.scrollLeft + element.clientWidth
    if (isHidden) element.scrollLeft = start
  }, [selected])
  function move(event: KeyboardEvent) {
    const index = tabs.findIndex((tab) => tab.id === selected)
    const next = targetOf(event.key, index, tabs.length)
    const tab = next === undefined ? undefined : tabs[next]
    if (!tab || next === undefined) return
    event.preventDefault()
    onSelect(tab.id)
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus()
  }
  return (
    <div class="tabs">
      <div class="tab-list" role="tablist" tabIndex={-1} aria-label={label} ref={list} onKeyDown={move}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`${id}-${tab.id}`}
            aria-selected={tab.id === selected}
            aria-controls={`${id}-panel`}
            tabIndex={tab.id === selected ? 0 : -1}
            onClick={() => onSelect(tab.id)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: content without controls must be scrollable by keyboard */}
      <div class="tab-panel" role="tabpanel" tabIndex={0} id={`${id}-panel`} aria-labelledby={`${id}-${selected}`}>
        {children}
      </div>
    </div>
  )
}

function targetOf(key: string, index: number, count: number): number | undefined {
  if (key === 'ArrowRight') return (index + 1) % count
  if (key === 'ArrowLeft') return (index + count - 1) % count
  if (key === 'Home') return 0
  return key === 'End' ? count - 1 : undefined
}
