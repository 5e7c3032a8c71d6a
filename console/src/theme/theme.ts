import { signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

export const themes: readonly { readonly id: Theme; readonly label: string }[] = [
  { id: 'system', label: 'System' },
  { id: 'light', label: 'Light' },
  { id: 'dark', label: 'Dark' },
]

const storageKey = 'parley.theme'

export const theme = signal<Theme>(readTheme())

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme.value
}

export function setTheme(value: Theme): void {
  theme.value = value
  localStorage.setItem(storageKey, value)
  applyTheme()
}

function readTheme(): Theme {
  const stored = localStorage.getItem(storageKey)
  return themes.find(({ id }) => id === stored)?.id ?? 'system'
}
