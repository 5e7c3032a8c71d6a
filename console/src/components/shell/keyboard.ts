import { signal } from '@preact/signals'

const storageKey = 'parley.keys'

/** Whether single keys act. A person who dictates or mistypes can switch them off. */
export const hasKeys = signal(localStorage.getItem(storageKey) !== 'off')

export function setKeys(isOn: boolean): void {
  hasKeys.value = isOn
  localStorage.setItem(storageKey, isOn ? 'on' : 'off')
}

/** What the keyboard opens above a page. */
export type Overlay = 'palette' | 'help'

/** Handles the keys of the whole console: Ctrl-K and ? open something, / searches, j and k move in lists. */
export function handleKey(event: KeyboardEvent, open: (overlay: Overlay) => void): void {
  if (event.defaultPrevented || document.querySelector('dialog[open]')) return
  if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
    event.preventDefault()
    open('palette')
    return
  }
  if (!hasKeys.value || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
  if (event.key === '?') open('help')
  else if (event.key === '/') focusSearch()
  else if (event.key === 'j') moveInList(1)
  else if (event.key === 'k') moveInList(-1)
  else return
  event.preventDefault()
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'button', 'submit'].includes(target.type)
  return target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement
}

/** The first field for a search, or the field of a chat. */
function focusSearch(): void {
  const field = document.querySelector<HTMLElement>('main input[type=search], main textarea')
  field?.focus()
  if (field instanceof HTMLInputElement) field.select()
}

/** Focuses the next item of the list on the page. Items that are out of sight are beside those in sight. */
function moveInList(step: 1 | -1): void {
  const items = [...document.querySelectorAll<HTMLElement>('main .virtual-list li, main .inbox > li')]
  const targets = items.flatMap((item) => item.querySelector<HTMLElement>('a, .event-line, article') ?? [])
  const current = targets.findIndex((target) => target.closest('li')?.contains(document.activeElement))
  const next = targets[current < 0 ? firstInSight(targets) : Math.min(Math.max(current + step, 0), targets.length - 1)]
  if (!next) return
  next.focus()
  next.scrollIntoView({ block: 'nearest' })
}

function firstInSight(targets: readonly HTMLElement[]): number {
  const list = targets[0]?.closest('.virtual-list')
  const top = list?.getBoundingClientRect().top ?? 0
  return Math.max(
    0,
    targets.findIndex((target) => target.getBoundingClientRect().top >= top),
  )
}
