import './valid-language.ts'
import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import uPlot from 'uplot'
import { theme } from '../../theme/theme.ts'
import 'uplot/dist/uPlot.min.css'

export interface Series {
  readonly label: string
  /** A colour of the theme, such as `--ok`. */
  readonly colour: string
  readonly values: readonly (number | undefined)[]
}

interface ChartProps {
  readonly title: string
  /** Milliseconds since 1970. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  readonly format: (value: number) => string
  /** Distances that ticks may have, so that no two of them have the same text. */
  readonly distances: readonly number[]
  /** The address of what happened at a point. */
  readonly hrefAt: (index: number) => string
}

const height = 200

/** Lines over time. A table with the same figures follows for people who do not see them. */
export function Chart({ title, times, series, format, distances, hrefAt }: ChartProps) {
  const { route } = useLocation()
  const open = useRef((_index: number) => {})
  open.current = (index) => route(hrefAt(index))
  const frame = useRef<HTMLDivElement>(null)
  const scheme = theme.value
  useEffect(() => {
    const element = frame.current
    if (!element) return
    const plot = new uPlot(optionsFor(element, { series, format, distances }), dataOf(times, series), element)
    plot.over.addEventListener('click', () => {
      if (typeof plot.cursor.idx === 'number') open.current(plot.cursor.idx)
    })
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [times, series, format, scheme])
  return (
    <figure class="chart card">
      <figcaption>
        <h2>{title}</h2>
      </figcaption>
      <div ref={frame} class="chart-frame" aria-hidden="true" />
      <details>
        <summary class="small">As a table</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
        <div class="chart-table" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">Time</th>
                {series.map(({ label }) => (
                  <th key={label} scope="col">
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.map((at, index) => (
                <tr key={at}>
                  <th scope="row">
                    <a href={hrefAt(index)}>{new Date(at).toLocaleTimeString()}</a>
                  </th>
                  {series.map(({ label, values }) => (
                    <td key={label}>{values[index] === undefined ? '–' : format(values[index])}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  )
}

function dataOf(times: readonly number[], series: readonly Series[]): uPlot.AlignedData {
  return [times.map((at) => at / 1_000), ...series.map(({ values }) => values.map((value) => value ?? null))]
}

type PlotOptions = Pick<ChartProps, 'series' | 'format' | 'distances'>

function optionsFor(element: HTMLElement, { series, format, distances }: PlotOptions): uPlot.Options {
  const style = getComputedStyle(element)
  const colour = (name: string) => resolveColour(element, style.getPropertyValue(name))
  const axis = {
    stroke: colour('--text-muted'),
    grid: { stroke: colour('--border'), width: 1 },
    ticks: { show: false },
  }
  return {
    width: element.clientWidth,
    height,
    cursor: { points: { size: 6 } },
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(max * 1.1, 1)] } },
    axes: [
      { ...axis, incrs: timeDistances, values: (_plot, ticks) => ticks.map((at) => hours.format(at * 1_000)) },
      { ...axis, incrs: [...distances], size: axisWidth, values: (_plot, ticks) => ticks.map(format) },
    ],
    series: [
      { value: (_plot, at) => (at === null ? '–' : new Date(at * 1_000).toLocaleTimeString()) },
      ...series.map(({ label, colour: name }) => ({
        label,
        stroke: colour(name),
        width: 2,
        points: { show: true, size: 5, fill: colour(name), filter: isolatedPoints },
        value: (_plot: uPlot, value: number | null) => (value === null ? '–' : format(value)),
      })),
    ],
  }
}

/** Seconds: a tick says hours and minutes. */
const timeDistances = [60, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 14_400, 21_600]

/** The width of the longest text of an axis in pixels, so that none is cut. */
function axisWidth(plot: uPlot, texts: readonly string[] | null): number {
  const [longest = ''] = (texts ?? []).toSorted((one, other) => other.length - one.length)
  const { width } = plot.ctx.measureText(longest)
  return Math.ceil(Math.max(30, width / devicePixelRatio + 20))
}

const hours = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })

/** The values between two gaps: no line leads to them. */
function isolatedPoints(plot: uPlot, series: number): number[] {
  const values = plot.data[series] ?? []
  const isGap = (index: number) => values[index] === null || values[index] === undefined
  return [...values.keys()].filter((index) => !isGap(index) && isGap(index - 1) && isGap(index + 1))
}

/** A canvas does not understand `light-dark()`, so the browser resolves the colour on an element. */
function resolveColour(element: HTMLElement, value: string): string {
  const probe = document.createElement('span')
  probe.style.color = value
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
