"""Data sets, samplers, collating; the loader without processes."""
import collections
import warnings

import numpy as np
import pytest

import pyx_tensor as torch
from pyx_tensor.utils import data
from pyx_tensor.utils.data import (BatchSampler, ChainDataset, ConcatDataset, DataLoader, Dataset, DistributedSampler, IterableDataset,
                                   RandomSampler, SequentialSampler, StackDataset, Subset, SubsetRandomSampler, TensorDataset,
                                   WeightedRandomSampler, default_collate, default_convert, random_split)

Pair = collections.namedtuple("Pair", "a b")


class Stream(IterableDataset):
    def __init__(self, n, length=None):
        self.n, self.length = n, length

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        if self.length is None:
            raise TypeError("a stream without length")
        return self.length


def ten():
    return TensorDataset(torch.arange(10), torch.arange(10.0) * 2)


# --- data sets ---------------------------------------------------------------------------------------------------------
def test_tensor_and_stack_data_sets():
    assert ten()[3] == (torch.tensor(3), torch.tensor(6.0)) and len(ten()) == 10
    with pytest.raises(AssertionError, match=r"Size mismatch between tensors.*\[10, 3\]"):
        TensorDataset(torch.arange(10), torch.arange(3))
    stacked = StackDataset([1, 2, 3], [4, 5, 6])
    assert stacked[1] == (2, 5) and len(stacked) == 3 and stacked.__getitems__([0, 2]) == [(1, 4), (3, 6)]
    named = StackDataset(x=[1, 2], y=Subset([7, 8, 9], [2, 0]))
    assert named[0] == {"x": 1, "y": 9} and named.__getitems__([1]) == [{"x": 2, "y": 7}]
    for wrong in (lambda: StackDataset(), lambda: StackDataset([1], a=[1]), lambda: StackDataset([1], [1, 2])):
        with pytest.raises(ValueError):
            wrong()


def test_concatenation_and_chains():
    joined = ten() + ten()
    assert isinstance(joined, ConcatDataset) and len(joined) == 20 and joined.cumulative_sizes == [10, 20]
    assert joined[13] == ten()[3] and joined[-1] == ten()[9]
    with pytest.raises(ValueError, match="absolute value of index"):
        joined[-21]
    with pytest.raises(IndexError):
        joined[20]
    with pytest.raises(AssertionError, match="empty"):
        ConcatDataset([])
    with pytest.raises(AssertionError, match="IterableDataset"):
        ConcatDataset([Stream(2)])
    assert list(Stream(2) + Stream(3)) == [0, 1, 0, 1, 2] and len(ChainDataset([Stream(2, 2), Stream(3, 3)])) == 5
    with pytest.raises(AssertionError, match="only supports IterableDataset"):
        list(ChainDataset([ten()]))
    with pytest.raises(NotImplementedError):
        Dataset()[0]
    with pytest.raises(TypeError):
        IterableDataset()


def test_subsets_and_splits():
    assert Subset(ten(), [4, 2])[1] == ten()[2] and Subset(ten(), [4, 2])[[0, 1]][0].tolist() == [4, 2]
    parts = random_split(range(10), [3, 7], generator=torch.Generator().manual_seed(1))
    assert sorted(parts[0].indices + parts[1].indices) == list(range(10)) and len(parts[0]) == 3
    assert [len(part) for part in random_split(range(10), [0.35, 0.65])] == [4, 6]
    for lengths, message in (([3, 4], "Sum of input lengths"), ([0.3, 0.9], "Sum of input lengths"), ([-0.3, 1.3], "not between 0 and 1")):
        with pytest.raises(ValueError, match=message):
            random_split(range(10), lengths)
    with pytest.warns(UserWarning, match="index 1 is 0"):
        random_split(range(2), [1.0, 0.0])


# --- samplers ----------------------------------------------------------------------------------------------------------
def test_samplers():
    assert list(SequentialSampler("abc")) == [0, 1, 2]
    assert sorted(RandomSampler(range(50))) == list(range(50))
    more = list(RandomSampler(range(5), num_samples=12))
    assert sorted(more[:5]) == sorted(more[5:10]) == list(range(5)) and len(more) == 12
    drawn = list(RandomSampler(range(3), replacement=True, num_samples=100))
    assert len(drawn) == 100 and set(drawn) == {0, 1, 2}
    assert sorted(SubsetRandomSampler([7, 3, 9])) == [3, 7, 9]
    assert set(WeightedRandomSampler([0.0, 1.0, 3.0], 200)) == {1, 2}
    assert list(BatchSampler(range(7), 3, True)) == [[0, 1, 2], [3, 4, 5]]
    assert [len(BatchSampler(range(7), 3, drop)) for drop in (False, True)] == [3, 2]


def test_a_generator_decides_the_order_and_the_default_stream_else():
    order = list(RandomSampler(range(20), generator=torch.Generator().manual_seed(3)))
    assert order == list(RandomSampler(range(20), generator=torch.Generator().manual_seed(3)))
    torch.manual_seed(1)
    first = list(RandomSampler(range(20)))
    torch.manual_seed(1)
    assert first == list(RandomSampler(range(20))) != order


@pytest.mark.parametrize("make", [
    lambda: RandomSampler([]), lambda: RandomSampler([1], num_samples=0), lambda: WeightedRandomSampler([1.0], 0),
    lambda: WeightedRandomSampler([[1.0]], 1), lambda: WeightedRandomSampler([1.0], 1, replacement=2),
    lambda: BatchSampler([1], 0, True), lambda: BatchSampler([1], True, True), lambda: BatchSampler([1], 2, 1),
    lambda: DistributedSampler([1]), lambda: DistributedSampler([1], 2, 2)])
def test_wrong_samplers_are_refused(make):
    with pytest.raises(ValueError):
        make()


def test_distributed_samplers_cover_the_data():
    for drop_last, total in ((False, 12), (True, 9)):
        parts = [DistributedSampler(range(10), 3, rank, drop_last=drop_last) for rank in range(3)]
        for part in parts:
            part.set_epoch(4)
        indices = [index for part in parts for index in part]
        assert len(indices) == total and len(set(indices)) == min(total, 10)
        assert all(len(list(part)) == len(part) for part in parts)
    assert list(DistributedSampler([1], 5, 4, shuffle=False)) == [0]
    one, two = (DistributedSampler(range(30), 2, 0, seed=seed) for seed in (0, 1))
    assert list(one) == list(one) != list(two)


# --- batches -----------------------------------------------------------------------------------------------------------
@pytest.mark.rows("S148")
@pytest.mark.parametrize(("batch", "expected"), [
    ([1, 2], torch.tensor([1, 2])), ([True, False], torch.tensor([True, False])), ([1.0, 2], torch.tensor([1.0, 2.0], dtype=torch.float64)),
    ([np.float32(1), np.float32(2)], torch.tensor([1.0, 2.0])), ([np.int16(1)] * 2, torch.tensor([1, 1], dtype=torch.int16)),
    ([np.ones(2), np.zeros(2)], torch.tensor([[1.0, 1], [0, 0]], dtype=torch.float64)), ([torch.ones(2)] * 3, torch.ones(3, 2)),
    ([np.array(1), np.array(2)], torch.tensor([1, 2])), ([np.bool_(True)], torch.tensor([True]))])
def test_collating_to_a_tensor(batch, expected):
    got = default_collate(batch)
    assert got.dtype == expected.dtype and torch.equal(got, expected)


def test_collating_containers():
    assert default_collate(["a", "b"]) == ["a", "b"] and default_collate([b"a"]) == [b"a"]
    assert [x.tolist() for x in default_collate([(1, 2.0), (3, 4.0)])] == [[1, 3], [2, 4]]
    named = default_collate([Pair(1, "x"), Pair(2, "y")])
    assert type(named) is Pair and named.a.tolist() == [1, 2] and named.b == ("x", "y")
    assert default_collate([{"k": [1, 2]}, {"k": [3, 4]}])["k"][1].tolist() == [2, 4]
    kept = default_collate([collections.OrderedDict(a=1), collections.OrderedDict(a=2)])
    assert type(kept) is collections.OrderedDict and kept["a"].tolist() == [1, 2]
    counted = default_collate([collections.defaultdict(list, a=1)])
    assert type(counted) is collections.defaultdict and counted.default_factory is list
    assert [x.tolist() for x in default_collate([range(2), range(2)])] == [[0, 0], [1, 1]]


@pytest.mark.parametrize(("batch", "error", "message"), [
    ([None], TypeError, "found <class 'NoneType'>"), ([{1}], TypeError, "found <class 'set'>"), ([1j], TypeError, "complex"),
    ([np.array("a")], TypeError, "found <U1"), ([(1, 2), (3,)], RuntimeError, "each element in list of batch should be of equal size"),
    ([torch.ones(2), torch.ones(3)], RuntimeError, "stack expects each tensor to be equal size"), ([np.array([None])], TypeError, "object")])
def test_what_cannot_be_collated(batch, error, message):
    with pytest.raises(error, match=message):
        default_collate(batch)


def test_collating_by_a_map_of_functions():
    class Word(str):
        pass
    from pyx_tensor.utils.data.collate import collate, default_collate_fn_map
    table = {Word: lambda batch, *, collate_fn_map=None: "-".join(batch), **default_collate_fn_map}
    assert collate([Word("a"), Word("b")], collate_fn_map=table) == "a-b"


def test_converting():
    got = default_convert({"a": np.ones(2), "b": [np.float32(1), "x"], "c": (1, np.zeros(1)), "d": Pair(np.ones(1), 2)})
    assert torch.equal(got["a"], torch.ones(2).double()) and got["b"][0] == torch.tensor(1.0) and got["b"][1] == "x"
    assert type(got["c"]) is list and type(got["d"]) is Pair and torch.is_tensor(got["d"].a) and got["d"].b == 2
    words = np.array(["a"])
    assert default_convert(words) is words and default_convert("abc") == "abc" and default_convert(np.str_("a")) == "a"


# --- the loader in this process ----------------------------------------------------------------------------------------
@pytest.mark.rows("S148")
def test_batches_in_order_and_shuffled():
    batches = list(DataLoader(ten(), batch_size=4))
    assert [b[0].tolist() for b in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]] and type(batches[0]) is list
    loader = DataLoader(ten(), batch_size=4, shuffle=True, drop_last=True)
    one, two = ([i for b in loader for i in b[0].tolist()] for _ in range(2))
    assert len(loader) == 2 and len(set(one)) == 8 and one != two
    assert sorted(i for b in DataLoader(ten(), batch_size=4, shuffle=True) for i in b[0].tolist()) == list(range(10))
    assert next(iter(DataLoader(ten(), batch_size=None)))[0] == torch.tensor(0)
    assert [b.tolist() for b in DataLoader(range(5), batch_sampler=[[4, 0], [1]])] == [[4, 0], [1]]
    assert [b.tolist() for b in DataLoader(range(5), sampler=[3, 1], batch_size=2)] == [[3, 1]]
    assert list(DataLoader(["x", "y"], batch_size=2, collate_fn="".join)) == ["xy"]
    assert list(DataLoader([])) == []


def test_data_sets_that_give_whole_batches():
    class Whole(Dataset):
        def __len__(self):
            return 6

        def __getitems__(self, indices):
            return [10 * i for i in indices]

    assert [b.tolist() for b in DataLoader(Whole(), batch_size=4)] == [[0, 10, 20, 30], [40, 50]]


def test_streams():
    assert [b.tolist() for b in DataLoader(Stream(5), batch_size=2)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in DataLoader(Stream(5), batch_size=2, drop_last=True)] == [[0, 1], [2, 3]]
    assert list(DataLoader(Stream(3), batch_size=None)) == [0, 1, 2]
    assert len(DataLoader(Stream(5, 5), batch_size=2)) == 3
    with pytest.raises(TypeError):
        len(DataLoader(Stream(5)))
    with pytest.warns(UserWarning, match="was reported to be 2"):
        list(DataLoader(Stream(5, 3), batch_size=2))


@pytest.mark.parametrize(("options", "error"), [
    (dict(num_workers=-1), ValueError), (dict(timeout=-1), ValueError), (dict(prefetch_factor=2), ValueError),
    (dict(prefetch_factor=-1, num_workers=1), ValueError), (dict(prefetch_factor=0, num_workers=1), ValueError), (dict(persistent_workers=True), ValueError),
    (dict(sampler=[0], shuffle=True), ValueError), (dict(batch_sampler=[[1]], batch_size=2), ValueError),
    (dict(batch_sampler=[[1]], shuffle=True), ValueError), (dict(batch_size=None, drop_last=True), ValueError),
    (dict(num_workers=1, multiprocessing_context="x"), ValueError), (dict(multiprocessing_context="fork"), ValueError),
    (dict(num_workers=1, multiprocessing_context=3), TypeError), (dict(batch_size=0), ValueError), (dict(batch_size=2.5), ValueError),
    (dict(drop_last=None), ValueError)])
def test_options_that_do_not_fit_are_refused(options, error):
    with pytest.raises(error):
        DataLoader(ten(), **options)


def test_streams_take_no_order():
    for options in (dict(shuffle=True), dict(sampler=[1]), dict(batch_sampler=[[1]])):
        with pytest.raises(ValueError, match="expected unspecified"):
            DataLoader(Stream(3), **options)


def test_what_is_fixed_and_what_warns():
    loader = DataLoader(ten())
    with pytest.raises(ValueError, match="should not be set after DataLoader is initialized"):
        loader.batch_size = 3
    loader.timeout = 3
    with pytest.raises(ValueError, match="needs processes"):
        next(iter(loader))
    with pytest.warns(UserWarning, match="suggested max number"):
        DataLoader(ten(), num_workers=10_000)
    if not torch.cuda.is_available():
        with pytest.warns(UserWarning, match="no accelerator is found"):
            assert len(list(DataLoader(ten(), pin_memory=True, batch_size=5))) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(DataLoader(ten()))


@pytest.mark.rows("S147")
@pytest.mark.filterwarnings("ignore:.*no accelerator is found")
def test_pinning_gives_the_same_batches():
    plain, pinned = (list(DataLoader(ten(), batch_size=4, pin_memory=flag)) for flag in (False, True))
    assert [[t.tolist() for t in batch] for batch in pinned] == [[t.tolist() for t in batch] for batch in plain]
    assert len(pinned) == 3 and all(t.is_pinned() == torch.cuda.is_available() for batch in pinned for t in batch)


def test_names():
    assert all(hasattr(data, name) for name in data.__all__)
    assert data.get_worker_info() is None
    from pyx_tensor.utils.data.dataloader import default_collate as same
    assert same is default_collate
