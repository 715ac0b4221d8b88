package roles

import (
	"context"
	"time"

	"github.com/omg-dds-go/dds/examples/avionics/internal/avionics"
	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
	"github.com/omg-dds-go/dds/examples/avionics/internal/model"
)

// airDataPeriod is the time between two measurements: a hundred a second, whatever the speed of the run.
const airDataPeriod = 10 * time.Millisecond

// airDataRoom is enough for any AirData.
const airDataRoom = 96

// airDataComputer publishes AirData. It builds each sample in place, in the memory that its readers see.
type airDataComputer struct {
	*process
	number  int
	profile string

	writer *writer[avionics.AirData]
	source ownShip
	stop   chan struct{}
}

func (a *airDataComputer) setup(ctx context.Context) error {
	var err error
	if a.source, err = newOwnShip(ctx, a.cfg); err != nil {
		return err
	}
	a.stop = make(chan struct{})
	a.writer, err = publish[avionics.AirData](a.process, AirData, a.profile)
	return err
}

func (a *airDataComputer) start(ctx context.Context) {
	go func() {
		if err := a.measure(ctx); err != nil {
			a.fail(cause(ctx, err))
			return
		}
		a.send(control.Event{Kind: control.Done, Published: a.published()})
	}()
}

func (a *airDataComputer) command(ctx context.Context, c control.Command) {
	switch c.Kind {
	case control.Stop:
		closeOnce(a.stop)
	case control.Finish:
		go a.finish(ctx, c, nil)
	}
}

// measure publishes at a fixed rate of this clock; what is measured is the flight at the time that the run's speed
// gives. As fast as it goes, that is the pace of the clock: a sensor has its rate.
func (a *airDataComputer) measure(ctx context.Context) error {
	sensor := model.NewSensor(a.cfg.Seed, a.number)
	speed := a.cfg.Speed
	if speed == 0 {
		speed = 1
	}
	clock := newPacer(1)
	silent := a.cfg.ADC1Off
	for n := time.Duration(0); clock.wait(ctx, a.stop, n*airDataPeriod); n++ {
		if a.number == 1 && silent > 0 && a.cfg.Elapsed+n*airDataPeriod >= silent {
			a.note("falls silent")
			select {
			case <-a.stop:
			case <-ctx.Done():
			}
			return ctx.Err()
		}
		s := a.source.at(time.Duration(float64(a.cfg.Elapsed+n*airDataPeriod) * speed))
		if err := a.put(ctx, s, sensor.Measure(s.altitudeFt, s.speedKt)); err != nil && !a.writer.cutOff(ctx, err) {
			return err
		} // what could not be sent is old when it can
	}
	return nil
}

func (a *airDataComputer) put(ctx context.Context, s ownState, air model.Air) error {
	loan, err := a.writer.Loan(ctx, airDataRoom)
	if err != nil {
		return err
	}
	b := avionics.NewAirDataBuilder(loan.Bytes())
	b.SetAircraft(a.cfg.Aircraft)
	b.SetNumber(a.writer.next())
	b.SetMeasured(s.time.UnixNano())
	b.SetComputer(byte(a.number))
	b.SetStaticPressureHpa(float32(air.StaticPressureHPa))
	b.SetPressureAltitudeFt(float32(air.PressureAltitudeFt))
	b.SetIndicatedAirspeedKt(float32(air.IndicatedKt))
	b.SetTrueAirspeedKt(float32(air.TrueKt))
	b.SetMach(float32(air.Mach))
	b.SetStaticAirTemperatureC(float32(air.StaticTemperatureC))
	n, err := b.Finish()
	if err == nil {
		err = loan.Publish(n)
	}
	if err != nil {
		_ = loan.Discard()
		return err
	}
	a.writer.wrote()
	return nil
}

// closeOnce closes a channel that only one goroutine closes, if it has not yet.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}
