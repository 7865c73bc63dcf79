# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that still break where no value has to be read, with the number of places today. A list to work off: it may only shrink."""

STILL_BREAK = {
    "abc_of_collections": 1, "async_never_awaited": 2, "attribute_errors": 1, "bad_bool": 1,
    "bad_len_and_index": 2, "bool_and_len_truth": 2, "break_in_init": 2, "break_in_operator": 2, "break_in_property": 2,
    "break_in_with": 2, "bytearray_things": 2, "callback_changes_dict_under_iteration": 2, "callback_changes_tensor": 2,
    "callback_extends_list_under_iteration": 2, "callback_mutates_list": 2, "callback_patches_class": 2,
    "callback_runs_generator": 2, "change_class": 1, "clocks": 3, "constant_tuple_of_tensors": 1,
    "context_variables": 2, "contextmanager_escapes": 2, "dataclass_made_inside": 2, "deepcopy_of_tensors": 1,
    "default_replaced": 1, "enum_flags": 1, "environment": 1, "error_in_class_body": 1, "eval_exec": 2,
    "generator_attributes": 1, "generator_in_attribute": 1, "init_returns_value": 1,
    "lock_with": 3, "lru_cached": 1, "multiple_inheritance_of_dict": 2, "named_tuple_errors": 1,
    "pickle_call": 1, "pickled": 1, "random_numbers": 3, "random_randint": 1,
    "recursion_error": 1, "shuffle": 2, "signature": 1,
    "tensor_attribute_of_object": 1, "tensor_version_and_grad": 1, "unhashable": 1, "user_containers": 2,
    "vector_conversions": 2,
}
