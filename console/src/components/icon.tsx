/** Outlines on a grid of 20 by 20. */
const paths = {
  chat: 'M3 4h14v9H9l-4 3.5V13H3z',
  tasks: 'M8 5h9M8 10h9M8 15h9M3 5h1.5M3 10h1.5M3 15h1.5',
  inbox: 'M3 11l2-7h10l2 7v5H3zM3 11h4l1 2h4l1-2h4',
  overview: 'M3 17V9M8 17V3M13 17v-6M17 17V6',
  usage: 'M10 2.5a7.5 7.5 0 1 0 7.5 7.5H10zM13 2.5a7 7 0 0 1 4.5 4.5H13z',
  agent: 'M5 7h10v9H5zM10 7V3.5M8 11v1M12 11v1M2.5 10v3M17.5 10v3',
  wire: 'M7 5L3 10l4 5M13 5l4 5-4 5M11 4L9 16',
  webhook: 'M10 3v6M6.5 9h7l-1 4h-5zM10 13v4',
  registry: 'M4 4h12v4H4zM4 12h12v4H4zM7 6h.01M7 14h.01',
  gateway: 'M3 17V8l7-5 7 5v9M8 17v-5h4v5M3 17h14',
  mesh: 'M5 5h.01M15 5h.01M10 15h.01M5 5h10l-5 10z',
  menu: 'M3 5h14M3 10h14M3 15h14',
  close: 'M5 5l10 10M15 5L5 15',
  copy: 'M7 7h9v9H7zM4 13V4h9',
  check: 'M4 10l4 4 8-9',
  warning: 'M10 3l8 14H2zM10 8v4M10 14.5h.01',
  info: 'M10 2.5a7.5 7.5 0 1 0 0 15a7.5 7.5 0 1 0 0-15zM10 9v5M10 6.2h.01',
  attach: 'M14 9l-5 5a2.5 2.5 0 0 1-3.5-3.5l6-6a1.7 1.7 0 0 1 2.4 2.4L8 12.8',
  send: 'M3 10l14-6-5 13-3-5z',
  stop: 'M6 6h8v8H6z',
  plus: 'M10 4v12M4 10h12',
  columns: 'M3 4h14v12H3zM10 4v12',
  download: 'M10 3v9M6 9l4 4 4-4M4 16h12',
  play: 'M6 4l10 6-10 6z',
  theme: 'M10 3a7 7 0 1 0 0 14zM10 3a7 7 0 0 1 0 14',
  user: 'M10 3.5a3 3 0 1 0 0 6a3 3 0 1 0 0-6zM4 17c.5-4 3-5.5 6-5.5s5.5 1.5 6 5.5',
} as const

export type IconName = keyof typeof paths

/** A decorative picture beside a text. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  )
}
